# What CI runs and what a contributor runs are the same targets: see .ci/run.

# The library and the nested modules that keep its go.mod small, root last.
NESTED  := $(patsubst ./%/go.mod,%,$(shell find . -mindepth 2 -name go.mod -not -path './.cache/*' | sort))
MODULES := $(NESTED) .
# Modules that hold packages to test; tools/ only pins programs.
TESTED  := $(filter-out tools,$(MODULES))

PLATFORMS := linux/amd64 linux/arm64 linux/386 darwin/arm64 windows/amd64
FUZZTIME  ?= 10000x

.DELETE_ON_ERROR:
.PHONY: help demo test test-386 race fuzz bench bench-report profile lint format tidy vet staticcheck setup

help:
	@echo 'make demo    four servers, 10,000 keys, one server stopped: every value checked'
	@echo 'make test    all tests, against real memcached servers where they can be had'
	@echo 'make test-386 those of the library as a 32-bit program'
	@echo 'make race    the same under the race detector'
	@echo 'make fuzz    each fuzz target for FUZZTIME ($(FUZZTIME): executions, or a time)'
	@echo 'make bench   each benchmark once, and each table of bench/ in its smallest form'
	@echo 'make bench-report  measure all tables and write bench/REPORT.md: a quarter of an hour on an idle machine'
	@echo '             (ROUNDS=4 PASSES=3; more rounds take longer)'
	@echo 'make profile where the processor time of a GetMulti of 4 servers × 100 keys goes'
	@echo 'make lint    format, tidy, vet on all platforms, staticcheck'

demo:
	@go run ./demo

# Real servers are an input that the test cache does not see, hence -count=1.
test: setup bin/gotest
	@set -e; for m in $(TESTED); do (cd $$m && $(CURDIR)/bin/gotest -count=1 ./...); done

# Where int has 32 bits: lengths from the wire overflow there and nowhere else. How
# outages end does not depend on that.
test-386: setup bin/gotest
	@if [ "$$(go env GOHOSTOS)/$$(go env GOHOSTARCH)" != linux/amd64 ]; then echo 'test-386: skipped: only linux/amd64 runs these'; \
	elif ! GOARCH=386 go test -run '^$$' ./meta >/dev/null; then echo 'test-386: skipped: this kernel runs no 32-bit programs'; \
	else GOARCH=386 bin/gotest -count=1 $$(go list ./... | grep -v internal/outage); fi

race: setup bin/gotest
	@set -e; for m in $(TESTED); do (cd $$m && $(CURDIR)/bin/gotest -race -count=1 ./...); done

fuzz:
	@sh tools/fuzz.sh $(FUZZTIME)

bench:
	@set -e; for m in $(TESTED); do (cd $$m && go test -run '^$$' -bench . -benchtime 1x ./...); done
	@SMOKE=1 RAW=$${TMPDIR:-/tmp}/vbench-smoke OUT=$${TMPDIR:-/tmp}/vbench-smoke/REPORT.md sh bench/report.sh

bench-report:
	@sh bench/report.sh

profile: setup
	@cd bench && go run ./cmd/vbench profile -time 20s

lint: format tidy vet staticcheck

format:
	@out=$$(find . -name '*.go' -not -path './.cache/*' | xargs gofmt -l) || exit 1; \
	if [ -n "$$out" ]; then echo "gofmt these: $$out"; exit 1; fi

tidy:
	@set -e; for m in $(MODULES); do (cd $$m && go mod tidy -diff && go mod verify); done

vet:
	@set -e; for m in $(filter-out .,$(TESTED)); do (cd $$m && go vet ./...); done
	@set -e; for p in $(PLATFORMS); do echo "vet $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} go vet ./...; done

staticcheck: bin/staticcheck
	@set -e; for m in $(TESTED); do (cd $$m && $(CURDIR)/bin/staticcheck ./...); done

setup:
	@sh tools/setup-memcached.sh

bin/gotest: internal/gotest/main.go
	@go build -o $@ ./internal/gotest

bin/staticcheck: tools/go.mod tools/go.sum
	@go build -C tools -o $(CURDIR)/$@ honnef.co/go/tools/cmd/staticcheck
