# Everything happens in ./.venv. The first target installs what it needs; later ones need no network.

VENV := .venv
PY := $(VENV)/bin/python
# PIP_QUIET= shows what pip does.
PIP_QUIET ?= -qq
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 $(PY) -m pip install $(PIP_QUIET) -c constraints.txt
EDITABLE := $(PIP) --no-build-isolation -e
DEV_EXTRAS := ".[dev,avalanche,mlflow,onnx,optuna,playground,ray,river,tables,tensorboard]"
# The exact pin: a looser requirement may fetch another, far larger build.
TORCH := $(shell sed -n 's/^torch==.*/&/p' constraints.txt)
# A stamp is valid for one content of these two files.
KEY := $(shell cat pyproject.toml constraints.txt | cksum | cut -d ' ' -f 1)
BASE := $(VENV)/.stamp-base-$(KEY)
DEV := $(VENV)/.stamp-dev-$(KEY)
DOCS := $(VENV)/.stamp-docs-$(KEY)
# Two makes at once install one after the other, where flock exists.
LOCK := $(if $(shell command -v flock),flock Makefile)

.DEFAULT_GOAL := help
.PHONY: help venv install demo test test-all test-matrix coverage fuzz check format bench docs release clean

# Seconds that make fuzz takes for each surface; FUZZ takes further options of python -m fuzz.
SECONDS ?= 60

# Tests run beside one another, as many as there are cores, at most eight.
TEST_WORKERS ?= $(shell n=$$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN); [ "$$n" -le 8 ] && echo "$$n" || echo 8)

help:
	@echo 'make demo     train SFFA, FFA and back-propagation on digits, write a page'
	@echo 'make test     tests and doctests; SLOW=1 with those that take minutes'
	@echo 'make test-all the same as make test SLOW=1'
	@echo 'make test-matrix  the tests as on other machines; FAST=1 for some of them, COMBINED=1 for several settings at once, OUT=file for the rows'
	@echo 'make fuzz     damaged and hostile input for everything that reads; SECONDS=60 for each surface'
	@echo 'make check    formatting, lint, types, import contracts'
	@echo 'make format   format and fix what ruff can fix'
	@echo 'make bench    speed and memory'
	@echo 'make docs     the documentation, into site/'
	@echo 'make coverage the tests with the share of lines they reach; OUT=file for a summary'
	@echo 'make release  wheel and source archive, checked and installed in clean environments'
	@echo 'make install  the environment for development, in .venv'
	@echo 'make venv     the environment for use only, in .venv'
	@echo 'make clean    remove .venv and everything generated'

venv: $(BASE)

install: $(DEV)

demo: $(BASE)
	@$(VENV)/bin/sffa demo

bench: $(BASE)
	@$(VENV)/bin/sffa bench

test: $(DEV)
	@$(PY) -m pytest -n $(TEST_WORKERS) $(if $(SLOW),,-m 'not slow') $(PYTEST)

test-all:
	@$(MAKE) --no-print-directory test SLOW=1

coverage: $(DEV)
	@$(PY) -m pytest -n $(TEST_WORKERS) $(if $(SLOW),,-m 'not slow') --cov \
	  --cov-report=term-missing:skip-covered --cov-report=json:build/coverage.json $(PYTEST)
	@$(PY) tools/coverage_summary.py build/coverage.json $(if $(OUT),--out '$(OUT)')
	@$(if $(OUT),$(PY) tools/documentation/badges.py)

release: $(DEV)
	@rm -rf dist
	@$(PY) -m build --no-isolation --outdir dist . >/dev/null
	@$(PY) -m twine check --strict dist/*
	@$(PY) tools/check_release.py

test-matrix: $(DEV)
	@$(PY) tools/test_matrix.py --workers $(TEST_WORKERS) $(if $(FAST),--fast) $(if $(COMBINED),--combined) $(if $(OUT),--out '$(OUT)') $(MATRIX)

fuzz: $(DEV)
	@$(PY) -m fuzz --cases 1000000 --seconds $(SECONDS) $(FUZZ)
	@$(PY) -m fuzz.faults

check: $(DEV)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

format: $(DEV)
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

docs: $(DOCS)
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	@echo 'site/index.html'

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call once,what,commands): install and stamp, unless another make just did.
define once
@$(LOCK) sh -c 'test ! -e $@ || exit 0; \
  echo "installing $(1) (once)…"; \
  { $(2); } && touch $@ || \
  { echo "error: the installation failed; for the details: make PIP_QUIET= $(MAKECMDGOALS)" >&2; exit 1; }'
endef

$(BASE): | $(VENV)/bin/pip
	$(call once,sffa,$(PIP) $(TORCH) && $(PIP) hatchling editables && $(EDITABLE) .)

$(DEV): $(BASE)
	$(call once,the development tools,$(EDITABLE) $(DEV_EXTRAS))

$(DOCS): $(BASE)
	$(call once,the documentation tools,$(EDITABLE) ".[docs]")

$(VENV)/bin/pip:
	@for python in $(PYTHON) python3.11 python3; do \
	  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  exec $(LOCK) $$python -m venv $(VENV); \
	done; \
	echo 'error: Python 3.11 or newer is needed; install it, or name it: make PYTHON=/path/to/python' >&2; \
	exit 1
