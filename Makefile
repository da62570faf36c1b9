# `make demo` and `make test` are each enough on a fresh machine; see CONTRIBUTING.md.
PYTHON ?= python3.11
WORKERS ?= auto
BIN := .venv/bin
LOCK := $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --no-header \
	--universal --python-version 3.11

.DEFAULT_GOAL := help
.PHONY: help bootstrap setup demo test test-long compose-demo alfworld check format bench test-hostile faults fuzz soak real-model lock wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

bootstrap: ## .venv with the locked requirements
	@PYTHON='$(PYTHON)' sh scripts/bootstrap.sh

setup: bootstrap ## .venv, engine, sandbox image and the pinned CLIs
	@$(BIN)/honed --log-text setup

demo: setup ## the offline demo: real CLIs in sandboxes, a simulated model
	$(BIN)/honed demo

test: setup ## all tests; those whose engine is missing are reported as skipped
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

test-long: setup ## what `make test` shows by cheaper tests: more of it, and on real agents all together (minutes)
	HONED_LONG=1 $(BIN)/python -m pytest -m long $(PYTEST_ARGS)

compose-demo: setup ## the demo through compose.yaml and the daemon's image (HONED_COMPOSE_BASE, HONED_COMPOSE_NETWORK=host)
	HONED_COMPOSE_BASE=$${HONED_COMPOSE_BASE:-python:3.11-slim-bookworm} $(BIN)/python -m pytest -s tests/acceptance/test_compose.py

alfworld: bootstrap ## opt-in: ALFWorld's own engine into .venv (minutes; builds with C and C++), which tests then play
	@sh scripts/bootstrap.sh alfworld

check: bootstrap ## style, types, import layers, locked requirements and their known holes, no machine paths
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_tree.py
	$(BIN)/python scripts/audit.py

format: bootstrap ## let ruff put the style right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## measure overhead and throughput; results in .bench/results.json
	$(BIN)/python -m tests.benchmarks

test-hostile: setup ## every attack of the hostile suite on the real engine: attack, expected, observed (minutes)
	$(BIN)/python -m tests.hostile

faults: setup ## a hundred seeded runs while 10 % of requests and 5 % of boxes fail: the same decisions and commits (minutes)
	$(BIN)/python -m tests.faults --runs 110 --docker 10

fuzz: bootstrap ## fuzz whatever reads hostile bytes, a minute for each reader (`python -m tests.fuzz --help`)
	$(BIN)/python -m tests.fuzz

soak: setup ## a real daemon through kills, faults and people's acts (minutes); results in .bench/results.json
	$(BIN)/python -m tests.soak

real-model: bootstrap ## opt-in: train against a small real model on loopback (installs it apart, outside the locks)
	$(BIN)/python -m tests.real_model

lock: bootstrap ## renew the locked requirements after a change of pyproject.toml
	$(LOCK) requirements/uv.in -o requirements/uv.txt
	$(LOCK) pyproject.toml -o requirements/runtime.txt
	$(LOCK) -c requirements/runtime.txt --extra dev pyproject.toml -o requirements/dev.txt
	$(LOCK) -c requirements/dev.txt requirements/build.in -o requirements/build.txt
	$(LOCK) -c requirements/dev.txt requirements/audit.in -o requirements/audit.txt
	$(LOCK) -c requirements/dev.txt requirements/alfworld.in -o requirements/alfworld.txt

wheel: bootstrap ## build the wheel into dist/
	$(BIN)/python -m build --wheel --no-isolation

clean: ## remove what builds and tests left (not .venv, not the sandbox image)
	rm -rf build dist .bench .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
