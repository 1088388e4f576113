# make site   build the guide into site/          make test      check everything
# make serve  the guide with reload               make test-gpu  the CUDA suite
# make bench  timings, as ratios                  make evidence  every architecture of transformers
# make test-engines  engines' own accounting, run for real
# make map    kvdocs/README.md          make lock  the hashes of the lock files

PYTHON ?= python3
BIN := .venv/bin
# Exactly what a lock file names, file by file; pip resolves nothing.
INSTALL := -m pip install --quiet --no-deps --require-hashes -r

# PyTorch from pip's local folders (PIP_FIND_LINKS) where it is there, else the registry's, whose
# build for Linux cannot be imported without CUDA's libraries.
define install_with_torch
$(1) $(INSTALL) requirements-torch.lock --no-index 2>/dev/null || true
$(1) $(INSTALL) $(2)
$(1) -c "import torch" 2>/dev/null || $(1) $(INSTALL) requirements-cuda.lock
endef
export NO_MKDOCS_2_WARNING := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: site serve test test-gpu test-engines evidence bench map lock clean

site: .venv/site.ok
	$(BIN)/python -m kvdocs.site.build

serve: .venv/site.ok
	$(BIN)/python -m mkdocs serve

test: .venv/test.ok
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	KVDOCS_HUB=snapshot $(BIN)/python -m kvdocs.site.build
	@# A file stays with one worker, which makes what its tests share once; see tests/conftest.py.
	KVDOCS_HUB=snapshot $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-gpu: .venv/test.ok
	$(BIN)/python -m pytest -m gpu tests/gpu

# vLLM's planner and llama.cpp on a CPU, in an environment of their own. The other tests read records.
test-engines: .venv-engines/ok
	VLLM_TARGET_DEVICE=cpu KVDOCS_HUB=snapshot .venv-engines/bin/python -m pytest -m engine tests/engines

.venv-engines/ok: requirements-engines.lock requirements-torch.lock
	rm -rf .venv-engines
	$(PYTHON) -m venv .venv-engines
	$(call install_with_torch,.venv-engines/bin/python,requirements-engines.lock)
	@touch $@

evidence: .venv/test.ok
	$(BIN)/python -m kvdocs evidence check sweep

bench: .venv/test.ok
	$(BIN)/python -m tests.bench

map: .venv/site.ok
	$(BIN)/python -m tests.house update

lock:
	$(PYTHON) -m venv .cache/lock
	.cache/lock/bin/python -m pip install --quiet uv
	PATH="$$PWD/.cache/lock/bin:$$PATH" .cache/lock/bin/python -m tests.lock

clean:
	rm -rf .venv .venv-engines site

.venv/site.ok: requirements-site.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("kvdocs needs Python 3.11 or newer: make PYTHON=python3.12 …" if sys.version_info < (3, 11) else 0)'
	@# Not venv --clear, which would empty what a link leads to.
	rm -rf .venv
	$(PYTHON) -m venv .venv
	$(BIN)/python $(INSTALL) requirements-site.lock
	@# pip takes no folder in hash mode. flit_core, which builds, is in the lock.
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q kvdocs
	@touch $@

.venv/test.ok: .venv/site.ok requirements.lock requirements-torch.lock
	$(call install_with_torch,$(BIN)/python,requirements.lock)
	@touch $@
