"""What llama.cpp really allocates: contexts made for real, and what their logs say.

In: the models of ``llama_models.py`` and settings. Out: the record ``records/llama_cpp.json``,
against which tests hold ``serving/llama_cpp/context.py``. Running needs the package xllamacpp.

    .venv-engines/bin/python -m kvdocs.evidence.llama_cpp.contexts check     what has changed since
    .venv-engines/bin/python -m kvdocs.evidence.llama_cpp.contexts update    write the record anew
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path

from kvdocs.engines.llama_cpp.context import Context
from kvdocs.evidence.llama_cpp import models
from kvdocs.evidence.llama_cpp.library import TYPE_NUMBERS, build, log_of_context, missing, model
from kvdocs.evidence.llama_cpp.models import GgufModel

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

RECORD = Path(__file__).parents[1] / "records" / "llama_cpp.json"
WHAT = (
    "llama.cpp made each model from GGUF metadata: the published layers, KV heads, head_dim, "
    "windows and states, a narrow embedding and a vocabulary of 32. Then it made a context on the "
    "CPU for each case. log is what it printed about the cache, line for line; made says whether "
    "there was a context. The library names no llama.cpp commit; the last part of the package's "
    "version is the number of the llama.cpp build it follows. "
    "To run it again: python -m kvdocs.evidence.llama_cpp.contexts check"
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
    for full in models.QWEN_05B, models.QWEN_7B, models.LLAMA_8B:
        for type_k, type_v in TYPES:
            yield full, Context(4096, type_k=type_k, type_v=type_v)
    for n_ctx in 1, 4000, 4097:
        yield models.QWEN_7B, Context(n_ctx)
    for n_ctx, sequences in (10_000, 3), (16_384, 4):
        for unified in False, True:
            yield models.QWEN_7B, Context(n_ctx, sequences, unified)
    yield models.QWEN_7B, Context(4096, type_v="q8_0", flash_attention=False)
    yield models.ODD_HEAD_DIM, Context(4096, type_k="q8_0")
    yield from windows()
    yield from latents()
    for hybrid in models.QWEN_35, models.GRANITE_4:
        yield hybrid, Context(4096)
        yield hybrid, Context(4096, sequences=4)
        yield hybrid, Context(4096, sequences=4, unified=True, type_k="q8_0", type_v="q8_0")
    yield models.QWEN_3_NEXT, Context(4096)


def windows() -> Iterator[tuple[GgufModel, Context]]:
    """Layers that slide, and models whose windows llama.cpp sets aside."""
    yield models.GEMMA_3, Context(4096)
    yield models.GEMMA_3, Context(4096, swa_full=True)
    yield models.GEMMA_3, Context(4096, ubatch=100)
    yield models.GEMMA_3, Context(1000)
    for unified in False, True:
        yield models.GEMMA_3, Context(8192, 4, unified)
    yield models.GPT_OSS, Context(8192)
    yield models.GEMMA_2, Context(8192)
    yield models.OLMO_3, Context(8192, type_k="q4_0", type_v="q4_0")
    yield models.PHI_3, Context(4096)
    yield models.MISTRAL, Context(8192)
    yield models.LLAMA_4, Context(10_240)
    yield models.GEMMA_3N, Context(8192)
    yield models.GEMMA_4, Context(8192)


def latents() -> Iterator[tuple[GgufModel, Context]]:
    """Latents, alone and with index keys."""
    for latent in models.DEEPSEEK_V3, models.DEEPSEEK_V32:
        for name in "f16", "q8_0":
            yield latent, Context(4096, type_k=name, type_v=name)
    yield models.DEEPSEEK_V3, Context(4096, type_k="q8_0", type_v="f16")


@cache
def record() -> dict[str, Any]:
    """The record as it was written."""
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def measured() -> dict[str, Any]:
    """The record's content, run now; takes a minute and up to 4 GiB of memory.

    Raises:
        LlamaCppMissing: the pinned build is not installed.
    """
    import datetime
    import platform

    ran = [_case(chosen, context) for chosen, context in cases()]
    used = {chosen.architecture + chosen.id: chosen for chosen, _ in cases()}
    return {
        "what": WHAT,
        "date": datetime.date.today().isoformat(),
        **build(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "contexts": len(ran),
        "made": sum(case["made"] for case in ran),
        "models": [asdict(chosen) for chosen in used.values()],
        "cases": ran,
    }


def check() -> list[str]:
    """Each line of the record that running it again would change, date and machine aside."""
    import difflib

    kept = ("package", "version", "sha256", "models", "cases")
    old, new = ({key: content[key] for key in kept} for content in (record(), measured()))
    before, after = _text(old).splitlines(), _text(new).splitlines()
    return list(difflib.unified_diff(before, after, RECORD.name, "run now", lineterm="", n=1))


def update() -> None:
    """Run every case and write the record."""
    RECORD.write_text(_text(measured()), encoding="utf-8")
    record.cache_clear()


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


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1) + "\n"


def main() -> int:
    """``check`` or ``update``; exit status 1 where the record would change, 2 for bad input."""
    if sys.argv[1:] not in (["check"], ["update"]):
        print("usage: python -m kvdocs.evidence.llama_cpp.contexts check|update", file=sys.stderr)
        return 2
    if reason := missing():
        where = "makes .venv-engines, which has it; run this with .venv-engines/bin/python"
        print(f"{reason} {where}", file=sys.stderr)
        return 2
    if sys.argv[1:] == ["update"]:
        update()
        return 0
    changed = check()
    print("\n".join(changed) if changed else f"{RECORD.name}: nothing changed")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
