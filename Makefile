# `make demo` and `make test` need Python >= 3.11, Node >= 20 and a package registry, nothing else.
PYTHON ?= python3
BIN := .venv/bin
PEERS := benchmarks/speed/peers/node_modules
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo sandbox test check format docs setup-dev audit spec-coverage chaos bench bench-storage clean
.DEFAULT_GOAL := help

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

demo: .venv/.runtime node_modules/.installed ## Run the whole job on a miniature mainnet
	@$(BIN)/quietswap demo

sandbox: .venv/.runtime node_modules/.installed ## Keep the sandbox running for development
	@$(BIN)/quietswap sandbox

test: .venv/.dev node_modules/.installed ## Run all tests
	@$(BIN)/pytest -q -n 2 --dist loadgroup

check: .venv/.dev node_modules/.installed ## Format, lint, types, import direction, caps, known vulnerabilities
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python tools/check_caps.py
	@$(BIN)/python tools/audit.py

format: .venv/.dev ## Format and fix what can be fixed
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

docs: .venv/.docs node_modules/.installed ## Build the documentation as a site into site/
	@$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env \
		--doctree-dir build/doctrees docs site
	@echo "open site/index.html"

audit: .venv/.dev node_modules/.installed ## Look for known vulnerabilities of the pinned dependencies
	@$(BIN)/python tools/audit.py

spec-coverage: .venv/.dev ## Write docs/spec-coverage.md: which test shows which line
	@$(BIN)/python tools/spec_coverage.py

chaos: .venv/.dev node_modules/.installed ## Kill the service 200 times in bad weather (CHAOS_KILLS, CHAOS_SEED)
	@CHAOS_KILLS=$${CHAOS_KILLS:-200} $(BIN)/pytest -q -s tests/chaos

bench: .venv/.dev node_modules/.installed $(PEERS)/.installed ## Measure the speed, beside limits and a peer (Linux, ten minutes)
	@$(BIN)/python -m benchmarks.speed --page docs/performance.md

bench-storage: .venv/.dev ## Measure the storage at 10 million orders (BENCH_ORDERS=20000: a short form)
	@$(BIN)/python -m benchmarks.storage $(if $(BENCH_ORDERS),--orders $(BENCH_ORDERS),--page docs/storage-figures.md)

setup-dev: .venv/.dev node_modules/.installed ## Install everything a contributor needs

clean: ## Remove what was installed and cached
	rm -rf .venv node_modules $(PEERS) site build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "quietswap needs Python 3.11 or newer as '$(PYTHON)' (set PYTHON=...)."; exit 1; }
	@$(PYTHON) -m venv .venv

.venv/.runtime: requirements/runtime.txt pyproject.toml | .venv/bin/python
	@echo "installing into .venv ..."
	@$(BIN)/pip install -q --require-hashes -r requirements/runtime.txt
	@$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	@touch $@

.venv/.docs: requirements/docs.txt | .venv/bin/python
	@$(BIN)/pip install -q --require-hashes -r requirements/docs.txt
	@touch $@

.venv/.dev: requirements/dev.txt .venv/.runtime
	@echo "installing the tools of development into .venv ..."
	@$(BIN)/pip install -q --require-hashes -r requirements/dev.txt
	@touch $@

node_modules/.installed: package.json package-lock.json
	@node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' 2>/dev/null \
		|| { echo "quietswap's sandbox needs Node 20 or newer on the PATH."; exit 1; }
	@echo "installing into node_modules ..."
	@npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

$(PEERS)/.installed: benchmarks/speed/peers/package.json benchmarks/speed/peers/package-lock.json | node_modules/.installed
	@echo "installing what the service is measured beside into $(PEERS) ..."
	@cd $(dir $(PEERS)) && npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@
