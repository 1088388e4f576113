"""What llama.cpp really allocates: contexts made for real, and what their logs say.

In: the models of ``models.py`` and settings. Out: the content of the record ``llama_cpp``, against
which tests hold ``kvdocs.engines.llama_cpp``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from kvdocs.engines.llama_cpp.context import Context
from kvdocs.evidence.llama_cpp.library import TYPE_NUMBERS, build, log_of_context, model
from kvdocs.evidence.llama_cpp.models import MODELS, GgufModel

WHAT = (
    "llama.cpp made each model from GGUF metadata: the published layers, KV heads, head_dim, "
    "windows and states, a narrow embedding and a vocabulary of 32. Then it made a context on the "
    "CPU for each case. log is what it printed about the cache, line for line; made says whether "
    "there was a context. The library names no llama.cpp commit; the last part of the package's "
    "version is the number of the llama.cpp build it follows."
)
SAME_TYPES = ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
TYPES = (*((name, name) for name in SAME_TYPES), ("q8_0", "q4_0"))
KEPT_LINES = (  # the beginnings of log lines that are about the cache
    "llama_kv_cache: size",
    "llama_kv_cache_",
    "llama_memory_recurrent: size",
    "llama_init_from_model",
    "llama_context: n_ctx ",
    "llama_context: n_ctx_seq  ",
    "load_arch_hparams",
)


def cases() -> Iterator[tuple[GgufModel, Context]]:
    """Every context the record is about, model by model."""
    for full in MODELS["qwen_05b"], MODELS["qwen_7b"], MODELS["llama_8b"]:
        for type_k, type_v in TYPES:
            yield full, Context(4096, type_k=type_k, type_v=type_v)
    for n_ctx in 1, 4000, 4097:
        yield MODELS["qwen_7b"], Context(n_ctx)
    for n_ctx, sequences in (10_000, 3), (16_384, 4):
        for unified in False, True:
            yield MODELS["qwen_7b"], Context(n_ctx, sequences, unified)
    yield MODELS["qwen_7b"], Context(4096, type_v="q8_0", flash_attention=False)
    yield MODELS["odd_head_dim"], Context(4096, type_k="q8_0")
    yield from windows()
    yield from latents()
    for hybrid in MODELS["qwen_35"], MODELS["granite_4"]:
        yield hybrid, Context(4096)
        yield hybrid, Context(4096, sequences=4)
        yield hybrid, Context(4096, sequences=4, unified=True, type_k="q8_0", type_v="q8_0")
    yield MODELS["qwen_3_next"], Context(4096)


def windows() -> Iterator[tuple[GgufModel, Context]]:
    """Layers that slide, and models whose windows llama.cpp sets aside."""
    yield MODELS["gemma_3"], Context(4096)
    yield MODELS["gemma_3"], Context(4096, swa_full=True)
    yield MODELS["gemma_3"], Context(4096, ubatch=100)
    yield MODELS["gemma_3"], Context(1000)
    for unified in False, True:
        yield MODELS["gemma_3"], Context(8192, 4, unified)
    yield MODELS["gpt_oss"], Context(8192)
    yield MODELS["gemma_2"], Context(8192)
    yield MODELS["olmo_3"], Context(8192, type_k="q4_0", type_v="q4_0")
    yield MODELS["phi_3"], Context(4096)
    yield MODELS["mistral"], Context(8192)
    yield MODELS["llama_4"], Context(10_240)
    yield MODELS["gemma_3n"], Context(8192)
    yield MODELS["gemma_4"], Context(8192)


def latents() -> Iterator[tuple[GgufModel, Context]]:
    """Latents, alone and with index keys."""
    for latent in MODELS["deepseek_v3"], MODELS["deepseek_v32"]:
        for name in "f16", "q8_0":
            yield latent, Context(4096, type_k=name, type_v=name)
    yield MODELS["deepseek_v3"], Context(4096, type_k="q8_0", type_v="f16")


def measured() -> dict[str, Any]:
    """The record's content; takes a minute and up to 4 GiB of memory.

    Raises:
        LlamaCppMissing: the pinned build is not installed.
    """
    ran = [_case(chosen, context) for chosen, context in cases()]
    used = {chosen.architecture + chosen.id: chosen for chosen, _ in cases()}
    return {
        **build(),
        "contexts": len(ran),
        "made": sum(case["made"] for case in ran),
        "models": [asdict(chosen) for chosen in used.values()],
        "cases": ran,
    }


def _case(chosen: GgufModel, context: Context) -> dict[str, Any]:
    settings = {
        "n_ctx": context.n_ctx,
        "n_seq_max": context.sequences,
        "n_ubatch": context.ubatch,
        "kv_unified": context.unified,
        "type_k": TYPE_NUMBERS[context.type_k],
        "type_v": TYPE_NUMBERS[context.type_v],
        "swa_full": context.swa_full,
        "flash_attn_type": -1 if context.flash_attention else 0,  # auto, or off
    }
    with model(chosen.architecture, chosen.metadata) as (made_model, loading):
        made, lines = log_of_context(made_model, settings)
    log = [line.strip() for line in [*loading, *lines] if line.startswith(KEPT_LINES)]
    return {"model": chosen.id, "context": asdict(context), "made": made, "log": log}
