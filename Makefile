# Every target sets up what it needs: .venv is made when it is missing or older than pyproject.toml.

VENV := .venv
STAMP := $(VENV)/.installed
BIN := $(VENV)/bin
# The interpreter that makes the environment: PYTHON=/path/to/python overrides the search.
PYTHON ?=
# SPARK=no leaves out the tests that need Java.
SPARK ?= yes
# Processes for the tests; those with Spark run behind the others, a file in one process, which has a Spark session of its own.
# In the order of the files: by their numbers of tests the longest test would come last, alone.
PROCESSES ?= 2
# Tests start many JVMs that do not live long: compiling less in each takes a quarter off.
SHORT_LIVED := SPARK_SUBMIT_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# What make test-fast runs, with one seed of each random batch and one stream of each conformance case; kernels come from the cache.
FAST_TESTS := tests/syntax tests/plan tests/explain tests/cases/test_cases.py tests/differential/test_local_engine.py \
	tests/differential/test_timeouts.py tests/stream/test_event_engine.py tests/match/test_conformance.py
FAST_WITHOUT := --deselect tests/cases/test_cases.py::test_a_case_comes_out_of_streams_however_they_are_cut \
	--ignore tests/plan/test_large_patterns.py --deselect tests/plan/test_row_automaton.py::test_a_pattern_that_nobody_means_is_refused
# How often make crash kills the streams.
KILLS ?= 50

# The engines we compare with need older packages than ours.
PEERS := .venv-peers
PEERS_STAMP := $(PEERS)/.installed
PEERS_REQUIREMENTS := benchmarks/peers/requirements.txt

# How long make fuzz looks.
MINUTES ?= 10

.PHONY: help demo demo-stream kernels test test-fast test-ci test-long fuzz crash connect lint bench crosscheck bench-flink install clean java

help:
	@echo "make demo       generate a stock stream, find rising runs, embedded and on Spark, show the matches"
	@echo "make demo-stream watch payments arrive out of order and card testing being found among them"
	@echo "make kernels    compile all kernels ahead of time, so that no query waits for it (once, a minute of processor time)"
	@echo "make test       run the tests (SPARK=no: without those that need Java)"
	@echo "make test-fast  run in two minutes what tells most, without Spark"
	@echo "make test-ci    run what CI runs besides: more random cases, killed streams, Spark Connect"
	@echo "make test-long  run the tests that take minutes"
	@echo "make fuzz       run mutated queries over random tables for 10 minutes (MINUTES=1: as long), each under limits"
	@echo "make crash      kill running streams, on Spark and without, 50 times (KILLS=5: as often as the tests do) and compare what came out"
	@echo "make connect    run a part of the tests over Spark Connect"
	@echo "make lint       ruff, mypy --strict, import-linter"
	@echo "make bench      run the benchmarks"
	@echo "make crosscheck compare MATCH_RECOGNIZE with Flink SQL and pandas-match-recognize, which it installs"
	@echo "make bench-flink measure MATCH_RECOGNIZE beside Flink SQL, which it installs"
	@echo "make clean      remove the environment and the caches"

demo: $(STAMP) kernels java
	@$(BIN)/eventide demo

demo-stream: $(STAMP) kernels java
	@$(BIN)/eventide demo --stream

ifeq ($(SPARK),no)
test: $(STAMP) kernels
	$(BIN)/python -m pytest -n $(PROCESSES) -m "not spark and not long and not ci"
else
test: $(STAMP) kernels java
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal -m "not spark and not long and not ci"
	$(SHORT_LIVED) $(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder -m "spark and not long and not ci"
endif

test-fast: $(STAMP)
	EVENTIDE_FAST=yes $(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal -m "not spark and not long and not ci" $(FAST_WITHOUT) $(FAST_TESTS)

# What CI runs besides: the random batches that make test leaves out, streams that are killed five times, Spark Connect.
test-ci: $(STAMP) kernels java
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal -m "ci and not spark and not long"
	$(SHORT_LIVED) $(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile -m "ci and spark and not long"
	$(SHORT_LIVED) EVENTIDE_CONNECT=yes $(BIN)/python -m pytest tests/spark/test_connect.py

test-long: $(STAMP) java
	$(BIN)/python -m pytest -n $(PROCESSES) -m "long and not spark" --timeout 3600
	$(BIN)/python -m pytest -m "long and spark" --timeout 3600

fuzz: $(STAMP) kernels
	$(BIN)/python -m tools.fuzz --minutes $(MINUTES)

# EVENTIDE_SEED=7 kills at other moments.
crash: $(STAMP) java
	EVENTIDE_KILLS=$(KILLS) $(BIN)/python -m pytest tests/live/test_a_service_that_is_killed.py tests/crash -m crash

connect: $(STAMP) java
	EVENTIDE_CONNECT=yes $(BIN)/python -m pytest -m connect

# Without a C compiler numba compiles each kernel when it is first called.
kernels: $(STAMP)
	@$(BIN)/eventide kernels build || echo "We go on without: numba compiles each kernel when it is first called."

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

bench: $(STAMP) java
	$(BIN)/python -m benchmarks

# EVENTIDE_CROSSCHECK_SEED=7 tries other queries, EVENTIDE_CROSSCHECK_SCALE=3 three times as many.
crosscheck: $(STAMP) java $(PEERS_STAMP)
	EVENTIDE_PEERS="$(CURDIR)/$(PEERS)/bin/python" $(BIN)/python -m pytest tests/crosscheck

bench-flink: $(STAMP) java $(PEERS_STAMP)
	$(BIN)/python -m benchmarks flink

$(PEERS_STAMP): $(PEERS_REQUIREMENTS) | $(STAMP)
	@set -e; \
	if ! $(BIN)/python -c 'import sys; sys.exit(sys.version_info >= (3, 13))'; then \
		echo "Flink has no packages for the Python of $(VENV)." >&2; \
		echo "Hint: rm -r $(VENV), then make $(firstword $(MAKECMDGOALS)) PYTHON=/path/to/python3.11" >&2; \
		exit 1; \
	fi; \
	echo "Setting up $(PEERS) with the engines to compare with (once; about 1 GB)"; \
	$(BIN)/python -m venv --clear $(PEERS); \
	if ! $(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $(PEERS_REQUIREMENTS); then \
		echo "The engines to compare with could not be installed; nothing else needs them." >&2; \
		echo "Hint: they come from the package index; see the message of pip above, and $(PEERS_REQUIREMENTS)." >&2; \
		exit 1; \
	fi; \
	touch $@

install: $(STAMP)

$(STAMP): pyproject.toml
	@set -e; \
	python="$(PYTHON)"; \
	if [ -z "$$python" ]; then \
		for candidate in python3.11 python3.12 python3.13 python3 python; do \
			if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
				python="$$candidate"; break; \
			fi; \
		done; \
	fi; \
	if [ -z "$$python" ] || ! "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
		echo "Python 3.11 or newer was not found." >&2; \
		echo "Hint: install python3.11, or name it: make $(firstword $(MAKECMDGOALS)) PYTHON=/path/to/python3.11" >&2; \
		exit 1; \
	fi; \
	echo "Setting up $(VENV) with $$("$$python" --version) (once)"; \
	if ! "$$python" -m venv $(VENV); then \
		echo "Hint: on Debian and Ubuntu the venv module is a package of its own: apt install python3.11-venv" >&2; \
		exit 1; \
	fi; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[spark,dev]'; \
	touch $@

java:
	@if ! { [ -x "$${JAVA_HOME:-/nonexistent}/bin/java" ] || command -v java >/dev/null 2>&1; }; then \
		echo "Java was not found; Spark needs Java 17 or newer." >&2; \
		echo "Hint: install it (apt install openjdk-17-jre-headless) or set JAVA_HOME." >&2; \
		echo "      Without Java: make test SPARK=no, and eventide run --engine local." >&2; \
		exit 1; \
	fi

clean:
	rm -rf $(VENV) src/eventide/compilation/_linked_* .venv-peers .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache demo-output
