#!/bin/sh
# report.sh - measure all tables, one pass after the other, and write REPORT.md and
# plots/ from all rounds. The machine should do nothing else meanwhile: the default
# takes about a quarter of an hour.
#
#	ROUNDS  rounds of a table in a pass (4); time grows with it
#	PASSES  passes, at different times (3)
#	RAW     folder for the raw rounds (raw), which vbench report -against compares
#	OUT     the report (REPORT.md); its plots go to plots/ beside it
#	SMOKE   if set: everything once in its smallest form, to see that it works
set -eu
cd "$(dirname "$0")"
rounds=${ROUNDS:-4}
passes=${PASSES:-3}
raw=${RAW:-raw}
out=${OUT:-REPORT.md}
smoke=${SMOKE:+-smoke}
if [ -n "$smoke" ]; then
	rounds=1 passes=1
fi
# memcached as tools/setup-memcached.sh has put it, where none is named or installed.
if [ -z "${MEMCACHED:-}" ] && [ -f ../tools/setup-memcached.sh ]; then
	sh ../tools/setup-memcached.sh >/dev/null
fi
mkdir -p "$raw"
rm -f "$raw"/*.json # rounds of another run are not of this one
go build -o "$raw/vbench" ./cmd/vbench

pass=1
while [ "$pass" -le "$passes" ]; do
	run() {
		echo "== pass $pass: $*" >&2
		# An error leaves rows without numbers; the report says so.
		"$raw/vbench" "$@" -rounds "$rounds" -json "$raw/$1-$pass.json" $smoke >/dev/null || failed="${failed:-} $1"
	}
	run getmulti -slice 15ms
	run get -slice 40ms
	run open -slice 300ms
	run busy -slice 150ms
	run loud -slice 250ms
	run routing -slice 60ms
	run ladder -slice 25ms
	run memory -slice 15ms
	run cache -slice 20ms
	run micro -slice 8ms
	run tls -slice 25ms
	run down -slice 250ms
	run gc -slice 1s
	run outage
	if [ "$pass" = 1 ] && [ -z "$smoke" ]; then
		run counts
	fi
	pass=$((pass + 1))
done
length=20s
if [ -n "$smoke" ]; then
	length=300ms
fi
"$raw/vbench" profile -time $length >"$raw/budget.md"
"$raw/vbench" report -plots "$(dirname "$out")/plots" -budget "$raw/budget.md" "$raw" >"$raw/report.md"
mv "$raw/report.md" "$out"
if [ -n "${failed:-}" ]; then
	echo "rows without numbers in:$failed" >&2
	exit 1
fi
