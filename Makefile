# Two commands matter: `make demo` and `make test`. Both set up all they need on first use and are offline after.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
KEPT   := --trial-runs runs
# Where bytecode is not kept, every run compiles all modules and rewrites the assertions of all tests again: ten seconds.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test setup check pure cluster nightly spark report fix bench images generated lock clean

help:  ## list all tasks
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: setup  ## three brokers, the leader killed, a verdict and a report: the first thing to run
	@$(BIN)/kafka-trial demo

test: setup  ## everything: the checks, the pure tests, and the tests on real clusters
	@$(MAKE) --no-print-directory check
	@tests/everything.sh $(BIN)/python

setup: $(STAMP)  ## virtual environment, packages, Kafka's jars, Toxiproxy, class archive
	@$(BIN)/kafka-trial fetch --quiet

check: $(STAMP)  ## seconds, no broker: ruff, mypy, pure tests
	@$(BIN)/ruff check . && $(BIN)/ruff format --check --quiet . && $(BIN)/mypy && tests/quick.sh $(BIN)/python

pure: $(STAMP)  ## the pure tests alone
	@$(BIN)/python -m pytest -q tests/pure tests/test_house.py

cluster: setup  ## the tests on real clusters alone
	@$(BIN)/python -m pytest $(KEPT) -m "not nightly" tests/cluster tests/browser examples

nightly: setup  ## the trials that are too many for every day: semantics, operations, disks and clocks, each with its twin
	@$(BIN)/python -m pytest $(KEPT) -m nightly tests/cluster

spark: setup  ## the tests of the Spark jobs alone; they also judge every run that the cluster tests left
	@$(BIN)/python -m pytest $(KEPT) -q tests/spark

report: setup  ## the nightly report over the runs that the tests left in runs/
	@$(BIN)/kafka-trial report --runs runs --out report

fix: $(STAMP)  ## let ruff mend and format what it can
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: setup  ## how fast: a cluster's start, traffic with its ledger, the judgement of 100 million rows, a look at a broker, verdicts on lag, interceptors, Spark, the frame proxy
	@$(BIN)/python -m benchmarks.cluster_start
	@$(BIN)/python -m benchmarks.traffic
	@$(BIN)/python -m benchmarks.check
	@$(BIN)/python -m benchmarks.exporter
	@$(BIN)/python -m benchmarks.lag
	@$(BIN)/python -m benchmarks.interceptors
	@$(BIN)/python -m benchmarks.spark
	@$(BIN)/python -m benchmarks.frames

images: setup  ## container images built on the spot, where no registry can be reached (needs root and debootstrap)
	@compose/images/build.sh

generated: $(STAMP)  ## write again what is made from the catalogue: docs/metrics.md, the stack's dashboards, rules and agent file
	@$(BIN)/kafka-trial catalogue page > docs/metrics.md
	@$(BIN)/kafka-trial catalogue agent-yaml --partitions topic > compose/stack/kafka/agent.yaml
	@$(BIN)/kafka-trial dashboards build compose/stack/grafana
	@$(BIN)/kafka-trial alerts build compose/stack

lock: $(STAMP)  ## resolve the pinned requirements anew
	@$(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --all-extras --group dev pyproject.toml -o requirements/dev.txt

clean:  ## remove the virtual environment and what the tools left in the tree (the cache stays)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache dist

$(STAMP): requirements/dev.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not on the PATH: install Python 3.11 or newer (Debian: apt-get install python3 python3-venv)." >&2; exit 4; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is $$($(PYTHON) -V 2>&1), but kafka-trial needs Python 3.11 or newer: install it, or say which with make PYTHON=python3.11." >&2; exit 4; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments: install its venv module (Debian: apt-get install python3-venv)." >&2; exit 4; }
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing packages into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
