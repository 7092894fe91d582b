# Everything a newcomer types. All Go commands use the tag egl, so that the
# packages without a window need neither libGL nor X11.
GO       ?= go
TAGS     := -tags egl
# What builds without cgo. With it, none of these has a package with cgo below it, so that
# the code that was tested is the same: TestPurePackagesHaveNoCgoBelowThem.
PURE     := ./shader/... ./job ./drivercache/... ./binary/... ./cache ./internal/osfile
BINARY   := bin/shadercache
LAB      := bin/shadercache-lab
MODULES  := lab/otel lab/bench/peers/gonumpeer
# Without -noreset the X server restarts when its last client ends, and a client that
# connects meanwhile fails.
XVFB     := xvfb-run -a -s '-screen 0 1280x1024x24 -noreset'
DEMO     := bin/demo
# Where goroutines share most is tested with the race detector, which makes tests take two or
# three times as long. make check tests everything with it.
RACED    := cache devices executor glctx job server trace
PACKAGES  = $(GO) list $(TAGS) ./...
# A program with the race detector sleeps for a second before it ends: 80 test binaries
# would. Tests wait for disks and for processes that they start, so that as many packages at
# a time as there are CPUs, and as many tests of each, leave some of them idle, and take twice as
# long beside others' work.
RACE     := GORACE=atexit_sleep_ms=0
AT_ONCE  := -p $$(($$(nproc) + 1)) -parallel $$((3 * $$(nproc)))
# Tests write and sync thousands of small files, which waits for a disk: to memory, where
# there is room. What a power cut does to files is tested on volumes of its own.
MEMORY    = GOTMPDIR=$${TMPDIR:-/tmp} TMPDIR=$$(scripts/memory-dir)
# Two fifths of the time that linking a test takes goes to what a debugger reads.
LINK     := -ldflags=-w
# Tests that the race detector leaves out.
UNRACED  := 'DoesNotAllocate|OtherSystems|FindsErrors'
FUZZTIME ?= 20s
FUZZED   := ./shader ./shader/manifest ./lab/lint ./binary ./binary/internal/crashlog \
	./drivercache/nvidia ./fleet/pack ./glctx ./conv2d ./conv2d/imaging ./resident ./lab/demo/interpreter \
	./recording ./fleet ./fleet/http ./server/internal/wire ./server/internal/ring ./trace
SAMPLE   := conv2d/imaging/sample.png

SPACE    := $(subst ,, )
IN_RACED  = '/shadercache/($(subst $(SPACE),|,$(RACED)))(/|$$)'
TESTS     = SHADERCACHE_REQUIRE_GL=1 $(MEMORY) $(RACE) $(XVFB) $(GO) test $(TAGS) $(AT_ONCE) $(LINK) -vet=all -timeout 30m

.DEFAULT_GOAL := help
.PHONY: help build lab dist dist-trial recorder demo test pure test-mesa25 test-drivers check bench fuzz soak trial record-trial picture docs man clean cache-dir examples size

help: ## print these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the command: bin/shadercache
	@scripts/deps build
	$(GO) build $(TAGS) -o $(BINARY) ./cmd/shadercache

lab: build ## build the command with the benchmarks and demonstrations too: bin/shadercache-lab
	$(GO) build $(TAGS) -o $(LAB) ./lab/shadercache-lab

dist: ## what one installs, reproducible, of what is committed: make dist VERSION=1.2.3
	scripts/dist $(VERSION)

dist-trial: ## install it into bare roots of Debian 12 and 13, and use it: minutes
	scripts/dist-trial

recorder: ## build what exec --record preloads: bin/libshadercache-record.so
	@scripts/deps build
	@mkdir -p bin
	recording/recorder/c/build bin/libshadercache-record.so

demo: build cache-dir ## filter a picture on the GPU: compiled, from the cache, and through a server
	@scripts/deps run
	@SHADERCACHE_DIR=$(CURDIR)/shader_cache scripts/demo $(BINARY) $(SAMPLE) $(DEMO)

# A cache that others can write to is refused, and a clone may be such a place.
cache-dir:
	@chmod 700 shader_cache

test: ## vet and test everything with a real GL driver, what is most concurrent with the race detector
	@scripts/deps test
	$(TESTS) -race $$($(PACKAGES) | grep -E $(IN_RACED))
	$(TESTS) $$($(PACKAGES) | grep -Ev $(IN_RACED))
	@$(MAKE) --no-print-directory pure

pure: # what needs no cgo, without it
	CGO_ENABLED=0 $(GO) build $(PURE)
	CGO_ENABLED=0 $(GO) test -vet=off -run $(UNRACED) ./cache ./internal/portable

test-mesa25: ## the tests that depend on the driver, with Mesa 25.0 in a root folder of Debian 13
	scripts/drivers test llvmpipe

test-drivers: ## the same with Mesa's drivers of AMD, Intel and NVIDIA without their GPUs, and zink
	for driver in zink radeonsi iris crocus nouveau; do scripts/drivers test $$driver || exit 1; done

check: ## before a commit: format, vet, lint where staticcheck is there, race tests
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	@if command -v staticcheck >/dev/null; then staticcheck $(TAGS) ./...; fi
	@scripts/deps test
	$(TESTS) -race ./...
	@$(MAKE) --no-print-directory pure

bench: build cache-dir ## Go benchmarks, then the start-up benchmark
	@scripts/deps test
	$(XVFB) $(GO) test $(TAGS) -run '^$$' -bench . -benchmem ./...
	SHADERCACHE_DIR=$(CURDIR)/shader_cache $(BINARY) bench startup

# Without -fuzzminimizetime the engine spends a minute on making each new input smaller.
# Targets read 1,000 inputs a second or more on 2 busy CPUs, but for FuzzTuning (60: it
# builds the sources of a whole plan; FuzzChoice reads the same files and builds nothing),
# FuzzReference, which runs two machines for up to 500 cycles for each input, and
# FuzzOnTheGPU, which dispatches for each.
fuzz: ## fuzz every decoder for FUZZTIME each (20s)
	@set -e; for package in $(FUZZED); do \
		for target in $$($(GO) test $(TAGS) -list '^Fuzz' $$package | grep '^Fuzz'); do \
			$(GO) test $(TAGS) $$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) \
				-fuzzminimizetime 10x; done; done

soak: ## the long versions of the tests of faults: some ten minutes
	SHADERCACHE_SOAK=1 $(GO) test -timeout 60m -v ./binary -run 'PowerCut|Killed|EveryFlipped|ManyEntries|ManyPrograms'
	SHADERCACHE_SOAK=1 $(GO) test -timeout 60m -v ./cache -run 'ManyProcesses|GetWaitsForNoLock|RandomStarts'
	SHADERCACHE_SOAK=1 $(GO) test -timeout 60m -v ./fleet/pack -run 'Every|Killed|Bombs|PowerCut'
	SHADERCACHE_SOAK=1 $(GO) test -timeout 60m -v ./drivercache/nvidia -run 'PowerCut'
	SHADERCACHE_SOAK=1 $(GO) test -timeout 60m -v ./drivercache -run 'KilledProcesses'
	SHADERCACHE_SOAK=1 $(GO) test $(TAGS) -timeout 60m -v ./cmd/shadercache -run 'ManyPrograms|FaultModes|KilledClients|KilledPreloads'
	SHADERCACHE_SOAK=1 $(GO) test $(TAGS) -timeout 60m -v ./lab/shadercache-lab -run 'StoppedSoaks'
	SHADERCACHE_SOAK=1 $(GO) test $(TAGS) -timeout 60m -v ./server/clients -run 'Flipped'
	SHADERCACHE_SOAK=1 $(GO) test $(TAGS) -timeout 60m -v ./executor -run ManyGoroutines
	SHADERCACHE_SOAK=1 $(GO) test -timeout 60m -v ./fleet/... -run 'MemoryOfAPull|Network|RandomTrust'
	SHADERCACHE_SOAK=1 $(GO) test -timeout 60m -v ./recording/recorder -run ManyThreads
	SHADERCACHE_SOAK=1 $(GO) test $(TAGS) -timeout 60m -v ./conv2d/imaging -run SampleIsTheScene
	SHADERCACHE_SOAK=1 $(GO) test $(TAGS) -timeout 60m -v ./conv2d -run 'TestImplicit'
	SHADERCACHE_SOAK=1 $(GO) test $(TAGS) -timeout 60m -v ./server -run 'Damaged|ComeAndGo|Plans|Networks|RandomJobs'
	SHADERCACHE_SOAK=1 $(GO) test $(TAGS) -timeout 60m -v ./cmd/systemtest -run 'KilledStarts'
	SHADERCACHE_SOAK=1 $(GO) test $(TAGS) -timeout 90m -v ./cmd/systemtest -run 'TestSoak$$' # an hour

trial: ## 1,500 generated shaders through all of a cache's life: some ten minutes
	scripts/trial

record-trial: ## record real programs of Debian, those that are installed: some minutes
	scripts/record-trial

size: ## what has to be read to hold this project, against its budgets
	@$(GO) run ./lab/size

examples: ## vet and test the modules of their own: OpenTelemetry, and gonum as a peer
	@set -e; for module in $(MODULES); do (set -x; cd $$module; $(GO) vet $(TAGS) ./...; $(GO) test $(TAGS) ./...); done

picture: ## draw docs/architecture.svg from docs/architecture.dot
	@scripts/deps picture
	dot -Tsvg docs/architecture.dot -o docs/architecture.svg
	printf '<!-- architecture.dot sha256 %s -->\n' $$(sha256sum docs/architecture.dot | cut -d ' ' -f 1) >> docs/architecture.svg

docs: lab ## the help of all commands as pages: bin/docs/command.md and lab.md
	mkdir -p bin/docs
	$(BINARY) help --all > bin/docs/command.md
	$(LAB) help --all > bin/docs/lab.md

man: lab ## the manual pages: bin/man
	$(BINARY) man bin/man
	$(LAB) man bin/man

clean: ## delete what was built, what tests keep and the cache in shader_cache/
	rm -rf bin $${XDG_CACHE_HOME:-$$HOME/.cache}/shadercache-tests
	git clean -qfdX shader_cache
