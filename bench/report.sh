#!/bin/sh
# report.sh - measure all tables three times, one pass after the other, and write
# REPORT.md from all rounds. Takes about twenty minutes; the machine should do
# nothing else. ROUNDS and RAW (a folder for the raw rounds) may be set.
set -eu
cd "$(dirname "$0")"
rounds=${ROUNDS:-21}
raw=${RAW:-raw}
mkdir -p "$raw"
go build -o "$raw/vbench" ./cmd/vbench

for pass in 1 2 3; do
	run() {
		name=$1
		shift
		echo "== pass $pass: $name" >&2
		"$raw/vbench" "$@" -rounds "$rounds" -json "$raw/$name-$pass.json" >/dev/null
	}
	run getmulti getmulti -slice 20ms
	run get get -slice 50ms
	run busy busy -slice 150ms
	run memory memory -slice 20ms
	run micro micro -slice 8ms
done

{
	echo '# Report'
	echo
	echo 'Written by `sh report.sh`: three passes over all tables, whose rounds count as those of one run.'
	echo 'What the numbers mean is in [README.md](README.md). Conditions that differed between the passes'
	echo 'stand side by side. All figures of all rows: go run ./cmd/vbench show FILE...'
	for name in getmulti get busy memory micro; do
		echo
		"$raw/vbench" show -brief "$raw/$name-1.json" "$raw/$name-2.json" "$raw/$name-3.json"
	done
} >REPORT.md
