# Everything is done by `env/setup` (what a machine needs) and `python -m benchbook` (what the kit does); a target only names it.
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-builtin-rules

REPORT ?=
# `make report ALL=1`: every report; without REPORT and ALL, the reports are listed.
ALL ?=
PROFILE ?= smoke
# Where: a name in env/hosts; without one, what the notebook says (the local lab).
INVENTORY ?=
# What `make new` lays down: sysbench, or versions.
KIND ?=
BENCH ?=
# What a batch runs: a YAML file (docs/batches.md).
PLAN ?=
# Which campaign is packed: a report (its latest), an id, a folder.
CAMPAIGN ?=
# The systems that are built or fetched before the tests, so that no test waits for a compiler or a package.
TEST_SYSTEMS ?= tidb dtm mongo dm mysql57 mysql8 pd unistore etcd gotpc
PYTEST_ARGS ?=
# More for `make faults`, as "--seed 7 --rounds 40 --budget 60" (minutes).
FAULTS_ARGS ?=
# More for JupyterLab, as --port=8899.
JUPYTER_ARGS ?=
# Each worker takes a file at a time, and has labs of its own. A test of real servers waits half of the time: with four on
# two cores, about a quarter of the CPU time was nobody's. Each of them imports all tests first, some 10 s of CPU.
PYTEST_WORKERS ?= --numprocesses=6 --dist=loadfile --no-loadscope-reorder

# `make report report=x`, or REPORTS=x, would run nothing. What is no setting of ours, make or env/setup may know.
settings := REPORT PROFILE INVENTORY KIND BENCH PLAN CAMPAIGN TEST_SYSTEMS PYTEST_ARGS PYTEST_WORKERS JUPYTER_ARGS FAULTS_ARGS ALL
passed_on := SHELL MAKE% BENCHBOOK BENCHBOOK_% CONDA_PREFIX PATH XDG_CACHE_HOME TMPDIR
given := $(foreach name,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(name)))),$(name)))
unknown := $(strip $(filter-out $(settings) $(passed_on),$(given)))
ifneq ($(unknown),)
  $(error there is no variable $(unknown); variables are written in capitals: $(settings:%=%=...))
endif

# Servers and Go are often missing from a user's PATH.
export PATH := $(CURDIR)/.venv/bin:$(PATH)$(CONDA_PREFIX:%=:%/sbin):/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin
export JUPYTER_PREFER_ENV_PATH := 1
# The kit's own modules are compiled once, not on every start.
unexport PYTHONDONTWRITEBYTECODE
# What mypy has found of a file holds in any checkout: it compares contents. A fresh checkout is checked in a quarter of the time.
export MYPY_CACHE_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/benchbook/mypy
BENCHBOOK := .venv/bin/python -m benchbook

.PHONY: help new report batch test lint style lab lab-down jupyter bench faults site docs archive clean setup setup-python setup-report setup-test

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "  make report REPORT=tidb_v7_1_3_sysbench PROFILE=smoke    one report; ALL=1: all of them"

report: setup-report ## run REPORT (or ALL=1) with PROFILE, from installing to the page in site/
	@$(BENCHBOOK) report $(or $(REPORT),$(ALL:%=--all)) --profile $(PROFILE) $(INVENTORY:%=--inventory %)

batch: setup-report ## run all that PLAN says, side by side: make batch PLAN=plan.yaml
	@$(BENCHBOOK) batch $(PLAN)

# mypy takes one core for most of a minute, the first time on a machine: here it is one of the tests (tests/project/test_types.py), beside the others.
test: setup-test style ## check style, then run all tests, those of types among them (PYTEST_ARGS)
	$(if $(strip $(TEST_SYSTEMS)),@$(BENCHBOOK) build $(TEST_SYSTEMS))
	@.venv/bin/python -m pytest $(PYTEST_WORKERS) $(PYTEST_ARGS)

lint: style ## check style and types only
	@.venv/bin/mypy

style: setup-python
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/python -m deptry lib

lab: setup-report ## start the local lab by hand
	@$(BENCHBOOK) lab up

lab-down: setup-python ## stop the local lab
	@$(BENCHBOOK) lab down

# Root may run it too: JupyterLab listens on this machine alone, and asks for the token of the address it prints.
jupyter: setup-report ## open the project in JupyterLab; the address is printed
	@.venv/bin/python -m jupyter lab --allow-root --no-browser --ServerApp.root_dir="$(CURDIR)" \
	  --LabApp.default_url=/lab/tree/notebooks/explore.ipynb $(JUPYTER_ARGS)

new: setup-python ## lay down a report of your own: make new REPORT=my_report (KIND=versions: two versions side by side)
	@$(BENCHBOOK) new $(REPORT) $(KIND:%=--kind %)

bench: setup-report ## measure the kit itself: BENCH= one of those that it lists
	@.venv/bin/python -m benchmarks $(BENCH)

faults: setup-test ## break processes, disks, host keys and logins in real runs, and check what must hold (FAULTS_ARGS=--help)
	@PYTHONPATH=tests/faults .venv/bin/python -m fault_campaign $(FAULTS_ARGS)

site: setup-python ## rebuild every page from data/runs, with no lab running
	@$(BENCHBOOK) site

docs: setup-python ## build the documentation into docs/_build/html, the reference from the code
	@.venv/bin/python -m sphinx -q docs docs/_build/html && echo docs/_build/html/index.html

archive: setup-python ## pack CAMPAIGN for a deposit, as an RO-Crate: make archive CAMPAIGN=my_report
	@$(BENCHBOOK) archive $(CAMPAIGN)

build-%: setup-python ## build or fetch the system env/systems/%, if that is still to do
	@$(BENCHBOOK) build $*

ddt-jar: ## build the jar of DDT itself, for the report on it (docs/ddt.md); nothing else needs it
	@env/ddt-jar

setup: setup-report ## install what `make report` needs, if it is missing

setup-python setup-report setup-test: setup-%:
	@env/setup $*

clean: ## remove the site, .venv and tool caches; what was measured (data/runs) stays
	rm -rf site .venv .pytest_cache .mypy_cache .ruff_cache
	find lib tests notebooks -name __pycache__ -prune -o -name .ipynb_checkpoints -prune 2>/dev/null | xargs rm -rf
