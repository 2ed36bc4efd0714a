# Two commands do everything on a machine with python3, venv and pip: make demo, make test.
#   make test ROOM=masking   the tests of one room only: masking, privacy, clusters, catalog, service, papers, …
#   make coverage            which lines the tests of the rooms reach; fails below the floor in pyproject.toml
#   make papers              the papers repeated, from the data in AEGIS_DATASETS; an hour of two cores, can be stopped
#   make docs                the documentation as a site in site/; a warning is an error
#   make hooks               lint, types, contracts, generated pages and docs before every commit
PYTHON ?= python3
JOBS   ?= 2
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Compiled files are kept: the tests start Python hundreds of times.
export PYTHONDONTWRITEBYTECODE =

# A room's own tests, the contract suite of its registry, and the examples in its docstrings.
ROOM_TESTS = $(wildcard $(foreach place,tests tests/unit tests/catalog src/aegis src/aegis/candidates src/aegis/catalog \
	src/aegis/catalog/server,$(place)/$(ROOM)) tests/contracts/test_$(ROOM)_contract.py tests/engines/test_$(ROOM)_*.py) \
	$(ALSO_$(ROOM))
# What a new operation or public function is held to beside its room's own tests.
ALSO_commands = tests/contracts/test_results_contract.py tests/unit/test_public_names.py
ALSO_library = tests/contracts/test_results_contract.py tests/contracts/test_front_door.py
# Anonymizers have one suite, whichever room makes them.
ALSO_boxes = tests/contracts/test_anonymizers_contract.py
ALSO_clusters = tests/contracts/test_anonymizers_contract.py
# Rooms of the catalog that are tested through others.
ALSO_client = tests/catalog/api/test_client_changes.py tests/catalog/api/test_catalog_end_to_end.py
ALSO_records = tests/catalog/api/test_api_contract.py
ALSO_server = tests/catalog/api/test_api_contract.py tests/catalog/pages/test_surface_web_plumbing.py
ALSO_worker = tests/catalog/service/test_service_jobs.py tests/catalog/service/test_service_provider.py

.PHONY: demo setup test room system lint types contracts reference docs compiled unit coverage hooks papers clean

demo: $(VENV)/.demo
	$(BIN)/aegis demo --out demo

setup: $(VENV)/.setup

ifdef ROOM
test: room
else
test: $(VENV)/.setup system
	$(MAKE) --jobs=2 --output-sync=target lint types contracts docs compiled
	$(MAKE) unit
endif

room: $(VENV)/.setup
	$(if $(strip $(ROOM_TESTS)),,$(error there is no room called '$(ROOM)': make test ROOM=masking, say))
	$(BIN)/pytest $(ROOM_TESTS)

lint: $(VENV)/.setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.setup
	$(BIN)/mypy

contracts: $(VENV)/.setup
	$(BIN)/lint-imports

reference: $(VENV)/.setup
	$(BIN)/python docs/reference/generate.py --check

docs: $(VENV)/.setup
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --builder html docs site

# Otherwise every worker of the tests compiles the same loops.
compiled: $(VENV)/.setup
	$(BIN)/python tests/compile_ahead.py

unit: $(VENV)/.setup
	$(BIN)/pytest -n $(JOBS) --dist worksteal

coverage: $(VENV)/.setup
	$(BIN)/pytest -n $(JOBS) --dist worksteal --cov --cov-report=term:skip-covered --cov-report=html:coverage \
		tests/unit tests/contracts tests/golden

hooks: $(VENV)/.setup
	$(BIN)/pre-commit install

# The papers' tables and figures by their own recipes, two chapters at a time. Finished parts are kept: the same command
# goes on behind them.
papers: $(VENV)/.setup
	$(MAKE) --jobs=2 --output-sync=target paper-mo-obam paper-aegis paper-minimax

paper-%: $(VENV)/.setup
	$(BIN)/python benchmarks/reproduce.py $* --work .papers --report .papers/$*.html

# What some tests need beside Python: a browser for the web console, Java for Spark.
system:
	@sh tests/system_packages.sh

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[report]'
	@touch $@

$(VENV)/.setup: $(VENV)/bin/python pyproject.toml papers/pyproject.toml constraints.txt
	$(PIP) --editable '.[all,dev,docs]' --editable papers
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) demo dist build site coverage .coverage .papers .jax_cache
