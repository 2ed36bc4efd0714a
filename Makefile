# Two commands do everything on a machine with python3, venv and pip: make demo, make test.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo setup test system lint types contracts unit clean

demo: $(VENV)/.demo
	$(BIN)/aegis demo --out demo

setup: $(VENV)/.setup

test: $(VENV)/.setup system lint types contracts unit

lint: $(VENV)/.setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.setup
	$(BIN)/mypy

contracts: $(VENV)/.setup
	$(BIN)/lint-imports

unit: $(VENV)/.setup
	$(BIN)/pytest -n 2 --dist worksteal

# What some tests need beside Python: a browser for the web console, Java for Spark.
system:
	@sh tests/system_packages.sh

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[report]'
	@touch $@

$(VENV)/.setup: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[all,dev]' --editable papers
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) demo dist build
