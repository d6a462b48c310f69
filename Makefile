# Each target sets up what it needs: a virtual environment with locked dependencies, and Debian
# packages when they are missing and may be installed.
PYTHON ?= python3
BIN := .venv/bin
export PYTHONHASHSEED := 0

.PHONY: demo test fuzz check bench audit docs lock clean

demo: .venv/.runtime
	$(BIN)/tacit demo

test: .venv/.development
	$(BIN)/pytest -n 2 --dist loadfile

# Look for counterexamples at random, for as long as SECONDS says.
fuzz: .venv/.development
	$(BIN)/python scripts/fuzz.py $(or $(SECONDS),600)

check: .venv/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir site

bench: .venv/.development
	$(BIN)/python benchmarks/run.py

# Attack every release mechanism, and write what was found into its guarantee page.
audit: .venv/.development
	$(BIN)/python scripts/audit_pages.py

docs: .venv/.development
	$(BIN)/mkdocs serve

# Rewrite the locks from pyproject.toml (needs uv).
lock:
	scripts/lock

.venv/.runtime: requirements/runtime.lock pyproject.toml
	scripts/setup $(PYTHON) runtime

.venv/.development: requirements/development.lock pyproject.toml
	scripts/setup $(PYTHON) development

clean:
	rm -rf .venv site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis demo
