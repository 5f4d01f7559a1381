# Works with GNU make 3.81. Everything is installed into .venv, nothing outside this folder.

ifneq (,$(filter 3.7% 3.80,$(MAKE_VERSION)))
$(error posvec: this is GNU make $(MAKE_VERSION): 3.81 or newer is needed)
endif

# The first Python that is new enough; a pyenv shim may be on the PATH and still not run, so each is tried.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# How long `make fuzz` searches, for each target.
SECONDS := 60

.PHONY: help venv demo demo-ports test test-slow test-matrix lint fuzz vectors bench mutants exactness dist clean

help:
	@echo "make demo          generate golden vectors, verify the reference and a wrong implementation"
	@echo "make demo-ports    build and verify the ports to C, JavaScript, Rust, NumPy and PyTorch"
	@echo "make test          install what the tests need and run them"
	@echo "make lint          ruff, mypy, import-linter, and the schemas of the GitHub files"
	@echo "make fuzz          search for inputs that break the readers, for SECONDS=60 each"
	@echo "make test-slow     the proofs that take minutes"
	@echo "make test-matrix   the reference under every recorded JAX and instruction set"
	@echo "make vectors       record the shipped golden files and the draw table anew"
	@echo "make bench         measure the figures in README.md"
	@echo "make mutants       change what judges, one operator at a time, and see that a test notices (an hour)"
	@echo "make exactness     measure the figures in docs/exactness.md"
	@echo "make dist          build the source distribution and, from it, the wheel"
	@echo "make clean         remove .venv and everything that was built"

$(BIN)/python:
	@python="$(PYTHON)"; command -v "$${python:=python3}" >/dev/null 2>&1 || \
		{ echo "posvec: no Python found: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python" >&2; exit 1; }; \
	"$$python" .ci/check_python.py && { "$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }; }

# One stamp a set of extras: what is installed follows pyproject.toml and constraints.txt.
$(VENV)/demo.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing posvec with JAX and Flax into $(VENV) (once)"
	@$(PIP) -e ".[jax]"
	@touch $@

$(VENV)/test.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing what the tests need into $(VENV) (once)"
	@$(PIP) -e ".[jax,torch,test,plot,dask]"
	@touch $@

$(VENV)/lint.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@$(PIP) -e ".[jax,test,lint]"
	@touch $@

# Not among the constraints: no one version of atheris has wheels for every Python from 3.11 on.
$(VENV)/fuzz.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@$(PIP) -e ".[test,fuzz]" || { echo "posvec: atheris has wheels for Linux on x86-64 only, Python 3.11 to 3.14" >&2; exit 1; }
	@touch $@

$(VENV)/mutants.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@$(PIP) -e ".[jax,torch,test,mutants]"
	@touch $@

venv: $(VENV)/demo.stamp

demo: $(VENV)/demo.stamp
	@$(BIN)/python examples/demo.py

demo-ports: $(VENV)/test.stamp
	@$(BIN)/python examples/ports/demo.py

test: $(VENV)/test.stamp
	$(BIN)/pytest -m "not slow"

test-slow: $(VENV)/test.stamp
	$(BIN)/pytest -m slow

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows examples/course/student/.github/workflows/check.yml
	$(BIN)/python .ci/link_tree.py $(VENV)/tree
	MYPYPATH=$(VENV)/tree $(BIN)/mypy -p posvec
	cd $(VENV)/tree && ../bin/lint-imports ../../pyproject.toml --no-cache --no-logo

fuzz: $(VENV)/fuzz.stamp
	@$(BIN)/python .ci/link_tree.py $(VENV)/tree
	@PYTHONPATH=$(VENV)/tree $(BIN)/python tests/fuzz/run.py $(SECONDS) $(TARGETS)

vectors: $(VENV)/test.stamp
	$(BIN)/python -m posvec.generator.matrix record
	$(BIN)/posvec generate --suite all -o vectors

test-matrix: $(VENV)/test.stamp
	$(BIN)/python -m posvec.generator.matrix verify

exactness: $(VENV)/test.stamp
	$(BIN)/python -m posvec.generator.draw_table.ports
	$(BIN)/python -m posvec.generator.draw_table.figure docs/exactness.png

bench: $(VENV)/test.stamp
	$(BIN)/python tests/bench.py

mutants: $(VENV)/mutants.stamp
	$(BIN)/python tests/mutants.py $(GROUPS)

dist: $(VENV)/test.stamp
	rm -rf build dist
	$(BIN)/python -m build --quiet

clean:
	rm -rf $(VENV) .venvs build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
