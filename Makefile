# Everything is done by `env/setup` (what a machine needs) and `python -m benchbook` (what the kit does); a target only names it.
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules

REPORT ?=
PROFILE ?= smoke
# Where: a name in env/hosts; without one, what the notebook says (the local lab).
INVENTORY ?=
BENCH ?=
# The systems that are built from source before the tests, so that no test waits for a compiler.
TEST_SYSTEMS ?= tidb dtm mongo dm pd unistore
PYTEST_ARGS ?=
# Tests of real servers run in one worker, one after the other; those that compute run beside them, while servers wait.
PYTEST_WORKERS ?= --numprocesses=logical --maxprocesses=4 --dist=loadscope

# Servers and Go are often missing from a user's PATH.
export PATH := $(CURDIR)/.venv/bin:$(PATH)$(CONDA_PREFIX:%=:%/sbin):/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin
export JUPYTER_PREFER_ENV_PATH := 1
BENCHBOOK := .venv/bin/python -m benchbook

.PHONY: help new report test lint lab lab-down jupyter bench site clean setup setup-python setup-report setup-test

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  make report REPORT=tidb_v7_1_3_sysbench PROFILE=smoke    one report; without REPORT, all there are"

report: setup-report ## run REPORT (or all) with PROFILE, from installing to the page in site/
	@$(BENCHBOOK) report $(REPORT) --profile $(PROFILE) $(INVENTORY:%=--inventory %)

test: setup-test $(TEST_SYSTEMS:%=build-%) lint ## check style and types, then run all tests (PYTEST_ARGS)
	@.venv/bin/python -m pytest $(PYTEST_WORKERS) $(PYTEST_ARGS)

lint: setup-python ## check style and types only
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/python -m deptry lib

lab: setup-report ## start the local lab by hand
	@$(BENCHBOOK) lab up

lab-down: setup-python ## stop the local lab
	@$(BENCHBOOK) lab down

jupyter: setup-report ## open the notebooks in JupyterLab
	@.venv/bin/python -m jupyter lab notebooks

new: setup-python ## lay down a report of your own: make new REPORT=my_report
	@$(BENCHBOOK) new $(REPORT)

bench: setup-report ## measure the kit's own cost (BENCH= one of them)
	@$(BENCHBOOK) bench $(BENCH)

site: setup-python ## rebuild every page from data/runs, with no lab running
	@$(BENCHBOOK) site

build-%: setup-python ## build the system env/systems/% from source, if that is still to do
	@$(BENCHBOOK) build $*

setup: setup-report ## install what `make report` needs, if it is missing

setup-python setup-report setup-test: setup-%:
	@env/setup $*

clean: ## remove the site, .venv and tool caches; what was measured (data/runs) stays
	rm -rf site .venv .pytest_cache .mypy_cache .ruff_cache
	find lib tests notebooks -name __pycache__ -prune -o -name .ipynb_checkpoints -prune 2>/dev/null | xargs rm -rf
