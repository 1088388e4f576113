"""What vLLM makes of auto, a cache format and an architecture: its own functions asked, no GPU."""

import json
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed here; run make test-engines")

import vllm.config  # noqa: F401  first: the modules below import it, and it them

from kvdocs.engines.vllm.architectures import FILE
from kvdocs.engines.vllm.auto import NO_FLOAT16, kept, loaded
from kvdocs.engines.vllm.dtypes import KV_DTYPES, latent_bytes
from kvdocs.engines.vllm.kernels import refusal
from kvdocs.engines.vllm.layers import Options, sparse
from kvdocs.engines.vllm.pool import rank_slope
from kvdocs.engines.weights import published_dtype
from kvdocs.evidence.vllm import architectures as vllm_architectures
from kvdocs.evidence.vllm.planner import geometry
from kvdocs.evidence.vllm.sparse import sparse_format
from kvdocs.facts.snapshot import load, load_all

pytestmark = pytest.mark.engine
CARDS = ("7.5", "8.0", "8.9", "9.0", "10.0", "12.0")
SPARSE = [model.id for model in load_all() if sparse(model.layout)]


def _platform(capability: str) -> SimpleNamespace:
    """The current platform's answers for a card; the dtypes are its own property's."""
    import torch

    number = int(capability.replace(".", ""))
    types = [torch.bfloat16] * (number >= 80) + [torch.float16, torch.float32]
    return SimpleNamespace(
        supported_dtypes=types,
        is_cuda=lambda: True,
        is_device_capability_family=lambda family: number // 10 == family // 10,
        get_device_name=lambda: capability,
        get_device_capability=lambda: None,
    )


@pytest.mark.parametrize("capability", CARDS)
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_latents_are_kept_as_vllm_keeps_them(name, capability):
    model = load(name)
    found, bare = geometry(model.config), {**model.config, "architectures": []}
    index = rank_slope(model.layout, Options(1)) - len(model.layout.layers) * 2 * 576
    for dtype in KV_DTYPES:
        theirs = sparse_format(dtype, found, capability)
        assert bool(theirs) == (not refusal(dtype, model.layout, model.config, capability)), dtype
        if theirs:
            ours = kept(dtype, SimpleNamespace(config=bare, layout=model.layout), capability)
            held = rank_slope(model.layout, Options(1, kv_cache_dtype=ours)) - index
            assert held == len(model.layout.layers) * latent_bytes(theirs, 576), (dtype, ours)


@pytest.mark.parametrize("capability", CARDS)
@pytest.mark.parametrize("name", SPARSE)
def test_an_architecture_changes_auto_as_vllm_does(name, capability):
    from vllm.model_executor.models.config import MODELS_CONFIG_MAP
    from vllm.transformers_utils.config import get_config  # noqa: F401

    from kvdocs.engines.vllm.auto import by_architecture

    model = load(name)
    (architecture,) = model.config["architectures"]
    for dtype in ("auto", "bfloat16", "fp8"):
        cache = SimpleNamespace(cache_dtype=dtype)
        server = SimpleNamespace(
            cache_config=cache,
            model_config=SimpleNamespace(hf_config=SimpleNamespace(index_topk=2048)),
            speculative_config=None,
            parallel_config=SimpleNamespace(set_dcp_defaults=lambda **_: None),
        )
        with patch("vllm.platforms.current_platform", _platform(capability)):
            MODELS_CONFIG_MAP[architecture].verify_and_update_config(server)
        assert by_architecture(dtype, model.config, capability) == cache.cache_dtype


@pytest.mark.parametrize("capability", CARDS)
def test_models_are_loaded_in_the_dtype_that_vllm_resolves(capability):
    import torch
    from vllm.config import model as config

    assert set(NO_FLOAT16) == set(config._FLOAT16_NOT_SUPPORTED_MODELS)
    with patch.object(config, "current_platform", _platform(capability)):
        for model in load_all():
            named, _ = published_dtype(model) or ("float32", "")
            theirs = config._resolve_auto_dtype(
                model.config["model_type"], getattr(torch, named), is_pooling_model=False
            )
            assert f"torch.{loaded(model, capability)}" == str(theirs), model.id


def test_the_architectures_are_those_of_vllms_registry():
    assert json.loads(Path(FILE).read_text(encoding="utf-8")) == vllm_architectures.made()
