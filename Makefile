# Two targets do all the set-up: `make demo` and `make test`. Both create or reuse $(VENV), install
# what they need when pyproject.toml has changed, and need no root.

PYTHON ?= python3
VENV   ?= .venv
# Test processes that run at once.
JOBS   ?= 2

BIN := $(VENV)/bin
KEY := $(shell sha256sum pyproject.toml | cut -c1-12)
DEMO_STAMP := $(VENV)/installed-demo-$(KEY)
TEST_STAMP := $(VENV)/installed-test-$(KEY)
APT := apt-get install -y --no-install-recommends python3-venv g++ make perl iverilog

# Real data lies beside the project where that is so; tests that need it skip without it.
ifndef BITWRIGHT_DATA
ifneq ($(wildcard ../shared/data),)
export BITWRIGHT_DATA := $(abspath ../shared/data)
endif
endif

# $(call need,program): one clear line where a program is missing.
need = @command -v $(1) >/dev/null || { echo "$(1) is missing: run \`$(APT)\`" >&2; exit 3; }

.PHONY: help demo test check lint clean require-demo require-test

help:
	@echo "make demo    the main job on built-in data; no torch, no network after installation"
	@echo "make test    lint, types and all tests; installs everything that tests need"
	@echo "make check   lint, types and the fast tests"
	@echo "make lint    lint and types only"
	@echo "make clean   removes what the targets made, the virtual environment included"
	@echo "PYTHON=python3.12 VENV=.venv312 chooses another interpreter"

# An environment with everything for tests is good enough for the demo.
demo: require-demo $(if $(wildcard $(TEST_STAMP)),,$(DEMO_STAMP))
	$(BIN)/bitwright demo $(ARGS)

test: lint
	$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

check: lint
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow" $(ARGS)

lint: require-test $(TEST_STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python

clean:
	rm -rf $(VENV) build dist out *.egg-info .pytest_cache .ruff_cache

require-demo:
	$(call need,$(PYTHON))
	$(call need,g++)
	$(call need,perl)
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "python3-venv is missing: run \`$(APT)\`" >&2; exit 3; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "$(PYTHON) must be Python 3.11 to 3.13, not `$(PYTHON) -V`" >&2; exit 2; }

require-test: require-demo
	$(call need,iverilog)

$(BIN)/python:
	@echo "installing into $(VENV); the first time takes minutes"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(DEMO_STAMP): | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(TEST_STAMP): | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@
