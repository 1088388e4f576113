"""The live Hub, asked through huggingface_hub: a model's config and weight size at one commit.

In: Hub ids, and the seconds the Hub gets for all of them together. Out: for each the ``Model``, or
the ``LookupFailed`` that says why not.

Two requests a model: ``/api/models/ID`` (commit, files, safetensors summary), then the
``config.json`` of that commit; one more where ModelOpt has a file beside it that may say the
cache's dtype, one or two where packed weights make the summary inexact. They
go through the client's own session (``hub_http``). Nothing is written and nothing is executed.

A name look-up or a server that sends a byte a second cannot be interrupted. So the asking is done
in daemon threads, and at the deadline those that have no answer are left behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from kvdocs.facts.hub_http import LATER, Deadline, Trouble, get
from kvdocs.facts.hub_id import HUB_ID, check_id
from kvdocs.facts.models import (
    LARGEST_CONFIG,
    QUANT_CONFIG,
    LookupFailed,
    Model,
    Source,
    Weights,
    with_quant_config,
)
from kvdocs.formula import ConfigError, parse_config

LARGEST_INFO = 20_000_000  # bytes; the answer about a model lists all its files
LARGEST_INDEX = 100_000_000  # the index names every tensor of all shards, and so does a header
WORKERS = 16

# dtypes for which the Hub's summary counts stored elements. In packed weights (U8, I32 ...) it
# counts the parameters packed into them, which says nothing about their size.
ITEM_BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1}


def fetch(model_id: str, timeout_s: float) -> Model:
    """The model as the Hub has it now.

    Raises:
        LookupFailed: the Hub has no such config, or gave none within ``timeout_s`` seconds.
    """
    answer = fetch_many([model_id], timeout_s)[model_id]
    if isinstance(answer, LookupFailed):
        raise answer
    return answer


def fetch_many(model_ids: Iterable[str], timeout_s: float) -> dict[str, Model | LookupFailed]:
    """Each model as the Hub has it now, or why not; all of them within ``timeout_s`` seconds.

    The seconds are for all models together: a Hub that cannot be reached costs them once, and a
    model that gets no answer does not take the others with it.
    """
    ids, deadline = list(dict.fromkeys(model_ids)), Deadline.after(timeout_s)
    try:
        import huggingface_hub  # noqa: F401
    except ImportError:
        return {name: _not_installed(name) for name in ids}
    todo: SimpleQueue[str] = SimpleQueue()
    answers: SimpleQueue[tuple[str, Model | LookupFailed]] = SimpleQueue()
    for name in ids:
        todo.put(name)
    for _ in range(min(WORKERS, len(ids))):
        work = (todo, answers, deadline)
        Thread(target=_work, args=work, name="kvdocs-hub", daemon=True).start()
    found = dict(_until(deadline, answers, len(ids)))
    return {name: found.get(name) or _failed(name, deadline.missed()) for name in ids}


def _work(todo: SimpleQueue[str], answers: SimpleQueue[Any], deadline: Deadline) -> None:
    while True:
        try:
            name = todo.get_nowait()
        except Empty:
            return
        answers.put((name, _answer(name, deadline)))


def _until(
    deadline: Deadline, answers: SimpleQueue[tuple[str, Model | LookupFailed]], count: int
) -> Iterator[tuple[str, Model | LookupFailed]]:
    for _ in range(count):
        try:
            yield answers.get(timeout=deadline.left())
        except Empty:
            return


def _answer(name: str, deadline: Deadline) -> Model | LookupFailed:
    try:
        check_id(name)
        return _read_model(name, deadline)
    except LookupFailed as error:
        return error
    except Trouble as trouble:
        return _failed(name, trouble)
    except Exception as error:  # an answer nobody foresaw is no reason to fail without a sentence
        reason = f"the Hub's answer could not be understood ({type(error).__name__})"
        return LookupFailed(name, reason, LATER)


def _failed(name: str, trouble: Trouble) -> LookupFailed:
    return LookupFailed(name, trouble.reason, trouble.remedy, trouble.reached)


def _not_installed(name: str) -> LookupFailed:
    remedy = "Install it with: pip install huggingface_hub"
    return LookupFailed(name, "the package huggingface_hub is not installed", remedy)


def _read_model(name: str, deadline: Deadline) -> Model:
    from huggingface_hub import constants

    info = _object(
        get(f"{constants.ENDPOINT}/api/models/{name}", "model page", LARGEST_INFO, deadline)
    )
    hub_id, commit = str(info.get("id")), str(info.get("sha"))
    if not HUB_ID.fullmatch(hub_id) or not re.fullmatch("[0-9a-f]{40}", commit):
        raise Trouble("the Hub's answer names no commit")
    files = f"{constants.ENDPOINT}/{hub_id}/resolve/{commit}"
    config = _object(get(f"{files}/config.json", "config.json", LARGEST_CONFIG, deadline))
    whole = with_quant_config(config, lambda: _quant_config(info, files, deadline))
    source = Source(
        "hub",
        commit,
        datetime.now(UTC).date().isoformat(),
        f"{constants.ENDPOINT}/{hub_id}/blob/{commit}/config.json",
        renamed_to=hub_id if hub_id != name else "",
    )
    return Model(name, whole, source, _weights(info, files, deadline))


def _quant_config(info: dict[str, Any], files: str, deadline: Deadline) -> dict[str, Any] | None:
    """ModelOpt's file, None where the list of files has none or it is gone."""
    if QUANT_CONFIG not in _names(info):
        return None
    try:
        return _object(get(f"{files}/{QUANT_CONFIG}", QUANT_CONFIG, LARGEST_CONFIG, deadline))
    except Trouble as trouble:
        if trouble.absent:
            return None
        raise


def _names(info: dict[str, Any]) -> list[str]:
    return [sibling["rfilename"] for sibling in info.get("siblings") or []]


def _object(data: bytes) -> dict[str, Any]:
    if data.lstrip()[:1] == b"<":
        raise Trouble("a web page came back instead of JSON", f"Check HF_ENDPOINT. {LATER}")
    try:
        return parse_config(data.decode("utf-8"), "the Hub's answer")
    except UnicodeDecodeError:
        raise Trouble("the Hub's answer is not UTF-8 text") from None
    except ConfigError as error:
        raise Trouble(f"the Hub's answer {error.problem}") from None


def _weights(info: dict[str, Any], files: str, deadline: Deadline) -> Weights | None:
    """The bytes of all tensors, from the Hub's summary where that is exact, else from the files."""
    if weights := _from_summary(info.get("safetensors")):
        return weights
    names = _names(info)
    if "model.safetensors" in names:
        return _from_header(f"{files}/model.safetensors", deadline)
    if "model.safetensors.index.json" in names:
        return _from_index(f"{files}/model.safetensors.index.json", deadline)
    return None


def _from_summary(summary: Any) -> Weights | None:
    counts = (summary or {}).get("parameters") or {}
    if not counts or not counts.keys() <= ITEM_BYTES.keys():
        return None
    size = sum(int(count) * ITEM_BYTES[dtype] for dtype, count in counts.items())
    stated = ", ".join(f"{dtype} {count:,}" for dtype, count in sorted(counts.items()))
    source = f"safetensors summary of the Hub: {stated}"
    return _stated(size, "sum over dtypes of elements x itemsize", source)


def _from_header(url: str, deadline: Deadline) -> Weights | None:
    """The file's first 8 bytes are the length of its header, which says where each tensor ends."""
    length = int.from_bytes(get(url, "header", 8, deadline, start_only=True), "little")
    if length > LARGEST_INDEX:
        raise Trouble(f"its safetensors header claims {length:,} bytes, too many to be true")
    header = _object(get(url, "header", 8 + length, deadline, start_only=True)[8:])
    ends = [tensor["data_offsets"][1] for key, tensor in header.items() if key != "__metadata__"]
    return _stated(max(ends), "sum of tensor bytes (file header)", url)


def _from_index(url: str, deadline: Deadline) -> Weights | None:
    index = _object(get(url, "safetensors index", LARGEST_INDEX, deadline))
    total = (index.get("metadata") or {}).get("total_size")
    return _stated(total, "sum of tensor bytes (index metadata.total_size)", url)


def _stated(size: Any, kind: str, source: str) -> Weights | None:
    return Weights(size, kind, source, "good") if isinstance(size, int) and size > 0 else None
