# The commands of this repository. `make` alone lists them.

VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 4
PINS ?= constraints.txt
# Bytecode is kept even where the surroundings forbid it: without it every worker rewrites all tests, and every
# command that a test starts compiles all its modules.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest
PACKAGES := periplus agent mcp_server loaders kb_store web_pages kb_schema seeds
# Folders arrive one by one; style is checked on those that are there.
STYLED := $(wildcard $(PACKAGES) tests benchmarks scripts)

.DEFAULT_GOAL := help
.PHONY: conversations help setup setup-base setup-mongod setup-django setup-miniwob setup-plain setup-zoo setup-zoo-sample setup-changes setup-widgets zoo maps changes suites widgets miniwob setup-livekit setup-conformance demo test nightly fuzz audit sbom durations lint format bench bench-huge bench-clients bench-flows bench-runs bench-workers bench-long bench-check conformance readme-picture docs constraints clean sentences word-jobs widget-sessions faults floods

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: setup-base setup-livekit ## install everything into .venv and .tools (safe to repeat, quick when done)

setup-base: ## the same without the LiveKit server of the tests: what a demo needs
	@bash scripts/setup.sh

# Where it cannot be had the tests that need it skip and say why. CI has it, or fails.
setup-mongod: setup-base ## install a MongoDB server for the tests into .tools (test tool only)
	@bash scripts/setup.sh mongod || [ -z "$$CI" ]

setup-django: setup-base ## install the Django whose admin the tests look at into .tools
	@bash scripts/setup.sh django || [ -z "$$CI" ]

setup-miniwob: setup-base ## install the pages of MiniWoB++ for the tests into .tools
	@bash scripts/setup.sh miniwob || [ -z "$$CI" ]

setup-plain: setup-base ## set up an environment with pytest-playwright and without Periplus in .tools
	@bash scripts/setup.sh plain || [ -z "$$CI" ]

setup-zoo-sample: setup-base ## install one application of the zoo, for the sample in every test run
	@bash scripts/setup.sh zoo roundup-2.6.0 || [ -z "$$CI" ]

setup-zoo: setup-base ## install the applications that the zoo of the tests works in into .tools
	@bash scripts/setup.sh zoo

setup-changes: setup-base ## install the libraries that the small sites of the tests are made with into .tools
	@bash scripts/setup.sh changes || [ -z "$$CI" ]

setup-widgets: setup-base ## install the libraries that the widgets of the tests are built with into .tools
	@bash scripts/setup.sh widgets || [ -z "$$CI" ]

setup-livekit: setup-base ## build the LiveKit server the tests talk to into .tools, where Go is
	@bash scripts/setup.sh livekit || [ -z "$$CI" ]

setup-conformance: setup-base ## install the MCP conformance tool and the MCP Inspector into .tools, where npm is
	@$(BIN)/python scripts/conformance.py --install

demo: setup-base ## a narrated demo in a real browser, on embedded stores
	@$(BIN)/periplus demo

test: setup-mongod setup-django setup-miniwob setup-plain setup-zoo-sample setup-changes setup-widgets setup-livekit setup-conformance ## the architecture's contracts, and the tests with their coverage
	@$(BIN)/lint-imports
	@bash scripts/test.sh $(JOBS)

nightly: setup-mongod setup-django setup-miniwob setup-plain setup-zoo-sample setup-changes setup-widgets setup-livekit setup-conformance ## everything, the slow tests included
	@$(PYTEST) -n $(JOBS) --dist worksteal -m "not bench" --timeout 900
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) --no-print-directory faults
	@$(MAKE) --no-print-directory floods
	@$(MAKE) --no-print-directory bench-check
	@$(MAKE) --no-print-directory audit

# Goes on where it was interrupted; out/mcp-fuzz.json is the record of what is done.
fuzz: setup-base ## 100,000 fuzzed messages to the MCP server: no wrong answer, and it keeps its memory
	@$(BIN)/python -W ignore -m tests.mcp_server.tools.fuzz_run --calls 100000

# Goes on where it was interrupted; out/faults has each run with its date and seed. Only root can make all kinds.
faults: setup-mongod ## 30 runs of each kind of fault of the stores and the disk: nothing lost, nothing twice, every end explained (half an hour)
	@$(BIN)/python -W ignore -m tests.faults measure

# Goes on where it was interrupted; out/floods.jsonl has the figures, out/floods the logs of the servers.
floods: setup-base ## pages that flood, given to a service with two workers: each is over, memory is bounded, and the service goes on (an hour)
	@$(BIN)/python -W ignore -m tests.hostile.floods measure

# Each part (`make zoo-roundup.next_day.values`; `python -m tests.zoo parts` lists them) goes on where it was interrupted.
zoo: setup-zoo ## measure all jobs of the zoo: applications that are not ours (hours; goes on where it was interrupted)
	@for name in $$($(BIN)/python -m tests.zoo parts); do $(MAKE) --no-print-directory zoo-$$name || exit 1; done
	@$(BIN)/python -m tests.zoo report

zoo-%: setup-zoo
	@$(BIN)/python -m tests.zoo part $*

# `make induced-gmail`: one application, less than an hour. Nothing is run; sessions and figures are kept in out/zoo.
induced-%: setup-base
	@$(BIN)/python -m tests.zoo induce $*

# Goes on where it was interrupted; `make maps-roundup` maps one application.
maps: setup-zoo ## map applications that are not ours and compare the maps with their own routes (two hours)
	@$(BIN)/python -m tests.zoo map

maps-%: setup-base
	@install=$$(ls tests/zoo/registry/installs | grep '^$*-' | tail -1 | sed 's/\.[a-z]*$$//'); \
	  [ -z "$$install" ] || bash scripts/setup.sh zoo $$install
	@$(BIN)/python -m tests.zoo map $*

# Goes on where it was interrupted; out/interface-changes has the results.
changes: setup-changes ## measure verifying after interface changes and application bugs on eight small sites (an hour or more)
	@$(BIN)/python -m tests.interface_changes measure

# Goes on where it was interrupted; out/interface-changes/suites has the results.
suites: setup-changes setup-plain ## run the generated tests of the eight small sites in plain pytest: each assertion must be seen to fail (half an hour)
	@$(BIN)/python -m tests.interface_changes suites

# Goes on where it was interrupted; out/widgets has the results.
widgets: setup-widgets ## measure recording and replaying on the widgets of component libraries (a quarter of an hour or more)
	@$(BIN)/python -m tests.widgets measure

# Goes on where it was interrupted; out/miniwob has recordings and results.
miniwob: setup-miniwob ## measure workflows made of demonstrations on MiniWoB++ and write the table of docs/benchmarks.md (under an hour)
	@$(BIN)/python -m benchmarks.miniwob $(if $(PERIPLUS_BENCH_DATA),--demos $(PERIPLUS_BENCH_DATA)/miniwob_demos) --write docs/benchmarks.md
# Goes on where it was interrupted. MINUTES=10 takes hours.
MINUTES ?= 2
widget-sessions: setup-widgets ## record a noisy person for MINUTES (2) at the widgets of each library, and judge each act (under an hour)
	@$(BIN)/python -m tests.widgets sessions --minutes $(MINUTES)

# A version that the service does not know counts as not looked at, and that is an error: without a network it is red.
audit: setup-base ## look for known vulnerabilities of the pinned versions; red also if the service cannot be asked
	@bash scripts/setup.sh audit
	@$(BIN)/python -m pip check
	@$(BIN)/pip-audit --strict --no-deps --disable-pip --progress-spinner off --requirement $(PINS) \
		|| { echo "audit: NOT PASSED: a pinned version is vulnerable, or the vulnerability service could not be asked (see above)" >&2; exit 1; }

sbom: setup-base ## write dist/sbom.json (CycloneDX): what a release installs
	@bash scripts/setup.sh audit
	@bash scripts/setup.sh sbom dist/sbom.json

durations: setup-mongod setup-django setup-miniwob setup-plain setup-zoo-sample setup-changes setup-widgets setup-livekit setup-conformance ## all tests but benchmarks, to note how long each takes (hours)
	@PERIPLUS_TEST_DURATIONS=1 $(PYTEST) -p tests.support.covering -n $(JOBS) --dist worksteal -m "not bench" --timeout 900

lint: setup-base ## style, types and the architecture's contracts
	@$(BIN)/ruff check $(STYLED)
	@$(BIN)/ruff format --check $(STYLED)
	@$(BIN)/mypy $(addprefix -p ,$(wildcard $(PACKAGES)))
	@$(BIN)/lint-imports
	@bash scripts/lint_page_js.sh

format: setup-base ## let ruff format and mend what it can
	@$(BIN)/ruff check --fix $(STYLED)
	@$(BIN)/ruff format $(STYLED)

bench: setup-mongod ## the benchmarks (trust ratios, not seconds)
	@$(BIN)/python benchmarks/bench_load.py
	@$(BIN)/python -m benchmarks.bench_stores --scale 0.1
	@$(BIN)/python -m benchmarks.bench_notice --rounds 10
	@$(BIN)/python -m benchmarks.bench_start
	@$(BIN)/python -m benchmarks.bench_changes --scale 0.1
	@$(BIN)/python -m benchmarks.bench_huge --sizes 1000 10000
	@$(BIN)/python -m benchmarks.curves
	@$(BIN)/python -m pytest benchmarks -m bench --benchmark-enable -s --timeout 900

# Go on where they were interrupted; out/bench has the figures. 100,000 screens need 7 GB and some minutes.
bench-huge: setup-base ## 1,000 to 100,000 screens in one website: time and memory, with curves in docs/pictures
	@$(BIN)/python -m benchmarks.bench_huge
	@$(BIN)/python -m benchmarks.curves

bench-clients: setup-base ## 1, 20 and 200 clients of one server over HTTP
	@$(BIN)/python -m benchmarks.bench_clients

# These go on where they were interrupted; out/bench has the figures.
bench-flows: setup-base ## the engine against scripts by hand on three sites: CPU time and messages, with a picture (needs make conversations)
	@$(BIN)/python -W ignore -m benchmarks.bench_flows

bench-runs: setup-base ## 16 runs at once in one Chromium: memory and CPU time of each
	@$(BIN)/python -W ignore -m benchmarks.bench_runs

bench-workers: setup-base ## worker processes on simulated jobs: two against one, and 64 with a third killed
	@$(BIN)/python -W ignore -m benchmarks.bench_workers

# `make bench-long-run`, `-server`, `-map`, `-recording`: less than an hour each on a quiet machine.
bench-long: ## a run of 5,000 steps, a server of a week, a map of 5,000 pages, a recording of an hour: do they grow?
	@for part in server recording run map; do $(MAKE) --no-print-directory bench-long-$$part || exit 1; done

bench-long-%: setup-base
	@$(BIN)/python -W ignore -m benchmarks.bench_long $*

bench-check: setup-base ## red if a ratio is more than a quarter above the committed one (two minutes)
	@$(BIN)/python -m benchmarks.regression_check

# Goes on where it was interrupted; out/conversations has the knowledge that is made, the results and the texts.
conversations: setup-base ## whole conversations with Playwright's MCP server and with Periplus, in six arms (half an hour)
	@bash scripts/setup.sh zoo roundup-2.6.0
	@bash scripts/setup.sh zoo trac-1.6
	@$(BIN)/python -W ignore -m benchmarks.conversations measure; done=$$?; \
	  $(BIN)/python -m benchmarks.conversations report --write docs/benchmarks.md && exit $$done

sentences: setup-base ## how sentences are bound to tasks, without a browser
	@$(BIN)/python -m tests.sentences.sentence_figures
	@$(BIN)/python -m tests.sentences.benchmark_figures

# `make word-jobs`: an hour or two; finished runs are kept in out/models and left out the next time.
word-jobs: setup-base ## jobs in words with scripted models on four applications, and what they cost
	@for each in roundup-2.6.0 trac-1.6 calibreweb-0.6.27; do bash scripts/setup.sh zoo $$each || exit 1; done
	@$(BIN)/python -m tests.sentences.model_jobs

# `make word-jobs-linear-account-settings`: the sentences of WebArena-Infinity for one application, by a mediocre model; goes on where it
# was interrupted.
word-jobs-%: setup-base
	@$(BIN)/python -m tests.sentences.model_jobs $*

conformance: setup-conformance ## the MCP conformance tool and the Inspector against our server; writes docs/conformance.md
	@$(BIN)/python scripts/conformance.py --write docs/conformance.md

readme-picture: setup-base ## the pictures of the README, the moving one from the film of a demo
	@$(BIN)/python scripts/readme_pictures.py

docs: setup-base ## the documentation site, into site/; fails on a broken link
	@bash scripts/setup.sh docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

constraints: ## renew constraints.txt from a fresh install of the newest versions
	@bash scripts/setup.sh constraints

clean: ## remove caches, builds and the output of runs (.venv stays)
	@rm -rf build dist out site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .benchmarks
	@find . -name __pycache__ -not -path './.venv/*' -not -path './.tools/*' -prune -exec rm -rf {} +
