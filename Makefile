# `make run` and `make test` set up what they need in .venv first; nothing outside this directory changes.
# GNU make, Python >= 3.11 and a configured package index are all that is required.

PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --no-compile --quiet --quiet --disable-pip-version-check --constraint constraints.txt
# Of the damage and the faults of `make soak`: others each time, and the same again with SEED=...
SEED := $(or $(SEED),$(shell od -An -N3 -tu4 /dev/urandom | tr -d ' '))
# What pip would do on one core and for the tests of other packages, too.
COMPILE := $(BIN)/python -m compileall -q -j 0 -x /tests/ $(VENV)/lib
REQUIREMENTS := pyproject.toml constraints.txt
SCENARIO := examples/market-day.yaml
REPORT := out/market-day-seed1/report.html
SOURCES := $(shell find bypass mechanisms models scenarios transitions -name '*.py' -o -name '*.yaml')

# Programs that tests use if they are there. Only a machine that is there for tests (CI=true) is given them.
PROGRAMS := chromium iproute2 mosquitto nats-server redis-server sqlite3

# Tests start hundreds of interpreters: what one has compiled is kept for the others, whatever the shell has set.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help run test check soak fast lint kernels bytecode programs bench bench-smoke clean
.DELETE_ON_ERROR:

help:
	@echo "make run          run a short experiment; says where its report is"
	@echo "make test         linters, type checker and all tests"
	@echo "make check        linters, type checker and the tests that take no time; two minutes at most, from the second time on"
	@echo "make soak         faults and damaged input for half an hour, others each time; SEED=... repeats one"
	@echo "make kernels      compile kernels: the first broker and the first experiment need not do it then"
	@echo "make bench        run everything in benchmarks/; make bench-smoke runs it at a small size"
	@echo "make clean        remove what make and the tests have made, .venv and out/ too"
	@echo "PYTHON=...        the interpreter for .venv, at least 3.11; now $(PYTHON)"

# The report is a file like any other: it is made again only if the sources have changed.
run: $(REPORT)
	@echo "The report is $(CURDIR)/$(REPORT); a full experiment: $(BIN)/bypass run total-transitions"

$(REPORT): $(SOURCES) $(REQUIREMENTS) | $(VENV)/lab.stamp
	@echo "Running $(SCENARIO): 60 clients, 3 simulated minutes, two transitions; takes seconds,"
	@echo "and up to a minute the first time, when the simulator's kernels are compiled for this machine ..."
	@$(BIN)/bypass run $(SCENARIO) --seed 1 --out $(dir $@)

test: $(VENV)/dev.stamp
	@$(MAKE) --no-print-directory --jobs --output-sync lint kernels bytecode programs
	$(BIN)/pytest -n 4 # more than there are cores: many tests wait for processes of their own

check: $(VENV)/dev.stamp
	@$(MAKE) --no-print-directory --jobs --output-sync lint fast

fast: $(VENV)/dev.stamp
	$(BIN)/pytest -q -n 2 -m 'not slow and not soak and not bench'

soak: $(VENV)/dev.stamp
	$(BIN)/python -m tests.live.fuzzing --seed $(SEED)
	$(BIN)/pytest -q -m soak --timeout 0
	$(BIN)/python benchmarks/fuzz.py --seed $(SEED)
	$(BIN)/python benchmarks/hostile.py --seed $(SEED)
	$(BIN)/python benchmarks/crashes.py --seed $(SEED) --faults 40

bench-smoke: $(VENV)/dev.stamp
	$(BIN)/pytest -q -n 2 tests/benchmarks -m ''

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy bypass tests examples docs $(wildcard benchmarks/*.py)
	$(BIN)/lint-imports

kernels: $(VENV)/dev.stamp
	$(BIN)/bypass warm-up

# Nor need each of them compile all test files. What cannot be imported is shown when the tests run.
bytecode: $(VENV)/dev.stamp
	-@$(BIN)/pytest -q --collect-only > /dev/null

programs:
	@if [ "$$CI" = true ] && [ "$$(id -u)" = 0 ] && ! dpkg -s $(PROGRAMS) > /dev/null 2>&1; then \
	  echo "Installing $(PROGRAMS) ..."; \
	  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -qq -y install $(PROGRAMS); } > /dev/null \
	    || echo "Not installed: tests that need them say so and are left out."; fi

bench: $(VENV)/dev.stamp
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

$(VENV)/lab.stamp: $(REQUIREMENTS) | $(BIN)/pip
	@echo "Installing bypass and what experiments need into $(VENV) ..."
	@$(PIP) --editable '.[lab]'
	@$(COMPILE)
	@touch $@

# pyspark is half of it, and comes as source that is packed before it is installed: all else is installed meanwhile.
$(VENV)/dev.stamp: $(REQUIREMENTS) | $(BIN)/pip
	@echo "Installing bypass, what experiments need and the tools for tests into $(VENV) ..."
	@$(PIP) --no-deps pyspark & pyspark=$$!; \
	  grep -v '^pyspark==' constraints.txt | $(PIP) --no-deps --requirement /dev/stdin; \
	  others=$$?; wait $$pyspark && exit $$others
	@$(PIP) --editable '.[lab,ingest,dev]'
	@$(COMPILE)
	@touch $@ $(VENV)/lab.stamp

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "make: PYTHON is $(PYTHON) ($$($(PYTHON) --version 2>&1)): expected Python >= 3.11" >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) out build dist *.egg-info .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find bypass mechanisms models scenarios transitions tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +
