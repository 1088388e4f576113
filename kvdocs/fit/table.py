"""The answer of ``kvdocs fit`` for people: every term, what the engine makes of it, the verdict.

In: the answer under its keys for JSON, so that the table says nothing that they do not. Out: text.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdocs.formula.layers import plural
from kvdocs.units import binary, exact, gib, span

TYPE_CHECKING = False  # as in typing, which would take longer to import
if TYPE_CHECKING:
    from typing import Any

KEEP = {"every": "every token", "window": "a window", "index": "index keys"}


def table(found: dict[str, Any]) -> str:
    """The answer for people, with every term of the sum."""
    stated = found["terms"][0]["name"] == "available for the cache"
    where = "the memory stated" if stated else found["gpu"] or "a card of that memory"
    named = f" ({found['kv_dtype_from']})" if found["kv_dtype_from"] else ""
    ranks = found.get("tp", 1) * found.get("pp", 1)
    each = f", each of {ranks} ranks" if ranks > 1 else ""
    lines = [
        f"{found['model']} on {where}, {found['engine']}, cache in {found['kept_as']}{named}{each}",
        "",
        *(_term(term) for term in found["terms"]),
        _left(found, " on each rank" if ranks > 1 else ""),
        "",
        *(f"  {line}" for line in _made(found)),
        "",
        _verdict(found),
        *(f"  {remedy['text']}  ({remedy['flag']})" for remedy in found["remedies"]),
        *(f"note: {note}" for note in found["notes"]),
    ]
    return "\n".join(lines)


def _term(term: dict[str, Any]) -> str:
    sign = "-" if term["sign"] < 0 else " "
    amount = gib(term["best_bytes"], term["bytes"])
    return f"{sign} {amount:>22}  {term['name']} ({term['source']})"


def _left(found: dict[str, Any], each: str) -> str:
    sure, best = found["available_bytes"], found["best"]["available_bytes"]
    return f"= {gib(sure, best):>22}  left for the cache{each} ({exact(sure)} for sure)"


def _made(found: dict[str, Any]) -> Iterator[str]:
    """What the engine makes of the memory; each engine has keys of its own."""
    if "blocks" in found:
        return _blocks(found)
    if "n_ctx" in found:
        return _cells(found)
    return _batch(found) if "sequence_bytes" in found else iter(())


def _blocks(found: dict[str, Any]) -> Iterator[str]:
    """vLLM."""
    best, in_flight = found["best"], found["batch_blocks"]
    concurrency = f"{found['max_concurrency']:.2f}x"
    if best["blocks"] != found["blocks"]:
        concurrency += f" to {best['max_concurrency']:.2f}x"
    limit = plural(max(1, found["tokens"]), "token")
    batch = ", with a batch in flight for each" if in_flight else ""
    held = plural(found["sequence_blocks"], "block")
    yield f"blocks of {exact(found['block_bytes'])}: {span(found['blocks'], best['blocks'])}"
    yield f"pool: {span(found['pool_tokens'], best['pool_tokens'])} tokens as vLLM logs them"
    yield f"maximum concurrency for {limit} per request: {concurrency}, as vLLM logs it{batch}"
    yield f"a sequence holds {held} while it writes its answer"
    if in_flight:
        yield f"a batch in flight takes up to {plural(in_flight, 'block')} more, once for all"
    step = plural(found["max_num_batched_tokens"], "token")
    yield f"up to {step} in one step ({found['max_num_batched_tokens_from']})"


def _batch(found: dict[str, Any]) -> Iterator[str]:
    """transformers."""
    most = "" if found["growth_exact"] else "at most "
    prompt = plural(max(1, found["tokens"]), "token")
    yield f"a sequence after a prompt of {prompt}: {exact(found['sequence_bytes'])}"
    growth = exact(found["growth_bytes"])
    yield f"while one more token joins: {most}{growth} more, for each sequence"


def _cells(found: dict[str, Any]) -> Iterator[str]:
    """llama.cpp: the context for those who surely fit, or were asked for."""
    sequences = found["users"] or max(1, found["sequences"])
    shared = " -kvu" if found["kv_unified"] else ""
    takes = exact(found["cache_bytes"])
    yield f"-c {found['n_ctx']} -np {sequences}{shared} takes {takes}:"
    k, _, v = found["kv_dtype"].partition(",")
    yield from (_buffer(buffer, k, v or k) for buffer in found["buffers"])


def _buffer(buffer: dict[str, Any], type_k: str, type_v: str) -> str:
    layers, cells = plural(buffer["layers"], "layer"), buffer["cells"]
    k, v = buffer["k_bytes"], buffer["v_bytes"]
    if buffer["kind"] == "state":
        return f"  states of {layers}, {plural(cells, 'sequence')}: {binary(k + v)}"
    keep = "keeps" if buffer["layers"] == 1 else "keep"
    sets = f" × {buffer['streams']:,} sets" if buffer["streams"] > 1 else ""
    parts = f"K in {type_k} {binary(k)}" + (f", V in {type_v} {binary(v)}" if v else "")
    return f"  {layers} {keep} {KEEP[buffer['kind']]}, {cells:,} cells{sets}: {parts}"


def _verdict(found: dict[str, Any]) -> str:
    users, length = found["users"], plural(found["tokens"], "token")
    count = span(found["sequences"], found["best"]["sequences"])
    fit = "fits" if count == "1" else "fit"
    if users is None:
        sequences = "sequence" if count == "1" else "sequences"
        text = f"{count} {sequences} of {length} {fit} at once."
    elif found["tokens_asked"] is not None:
        text = f"{plural(users, 'user')} of {length}: {count} {fit}."
    elif found["tokens"]:
        text = f"{plural(users, 'user')} can have {length}{' each' if users > 1 else ''}."
    else:
        text = f"Not one token for {f'each of {users:,} users' if users > 1 else 'the one user'}."
    if found["fits"]:
        return text
    state, end = ("Not sure to fit.", "sure") if found["may_fit"] else ("It does not fit.", "fit")
    help_ = f"What would make it {end}:"
    if not found["remedies"]:
        help_ = f"No single change here would make it {end}."
    return f"{text} {state} {help_}"
