"""The settings a log states: which model, how many ranks, which cache dtype.

In: lines of a log. Out: ``Settings``. A model's name is compared with the models of the snapshot
and never shown or sent anywhere, because a path in a log may be private.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from kvdocs.facts import snapshot

_QUOTE = r"[\"']?"
_IS = rf"{_QUOTE}\s{{0,2}}[=: ]\s{{0,2}}{_QUOTE}"
_NUMBER = r"(\d{1,9})\b"
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("tp", rf"tensor[_-]parallel(?:[_-]size)?{_IS}{_NUMBER}"),
        ("tp", rf"\btp[_-]size{_IS}{_NUMBER}"),
        ("tp", rf"\s--?tp[= ]{_NUMBER}"),
        ("pp", rf"pipeline[_-]parallel[_-]size{_IS}{_NUMBER}"),
        ("kv_dtype", rf"kv[_-]cache[_-]dtype{_IS}(?:torch\.)?([a-z]\w{{1,24}})"),
        ("kv_dtype", rf"kv_cache_quant_algo{_IS}(FP8|NVFP4)\b"),
        ("kv_dtype", r"KV Cache is allocated\. dtype: torch\.(\w{1,24})"),
        ("dtype", r"[ ,]dtype=torch\.(\w{1,16})"),
        ("length", rf"max[_-](?:model|seq)[_-]len{_IS}{_NUMBER}"),
        ("in_flight", rf"max[_-]num[_-]batched[_-]tokens{_IS}{_NUMBER}"),
        ("block_size", rf"\bblock[_-]size{_IS}{_NUMBER}"),
        ("version", r"(?:LLM engine \(v|API server version |TensorRT-LLM version: )([\d.]{3,12})"),
        ("model", rf"\bmodel(?:[_-]path|[_-]tag)?{_IS}([^\s\"',)]{{2,200}})"),
        ("model", r"vllm serve ([^\s\"']{2,200})"),
        ("model", r"general\.name\s{1,12}= (.{2,60})"),
    )
)
_QUANTISED = re.compile(
    r"[-_.](?:fp8|awq|gptq|int4|int8|w\d+a\d+|nvfp4|mxfp4|bf16|gguf|q\d\w*|ud|dynamic|quantized"
    r"|\d+bit|block)(?=[-_.]|$).*",
    re.IGNORECASE,
)


@dataclass
class Settings:
    """What the log says of itself; None where it does not. The first mention counts."""

    HINTS: ClassVar[tuple[bytes, ...]] = (
        b"LLM engine",
        b"vllm serve",
        b" -tp ",
        b" --tp ",
        *b"tensor_parallel tensor-parallel tp_size --tp-size kv_cache_dtype kv-cache-dtype".split(),
        *b"kv_cache_quant_algo block_size block-size max_model_len max-model-len".split(),
        *b"max_num_batched_tokens max-num-batched-tokens max_seq_len".split(),
        *b"model_path --model general.name".split(),
    )

    _hints: ClassVar[tuple[str, ...]] = tuple(hint.decode() for hint in HINTS)

    found: dict[str, str] = field(default_factory=dict)

    def read(self, line: str) -> None:
        """Take up what a line states."""
        if not any(hint in line for hint in self._hints):
            return
        for name, pattern in _PATTERNS:
            if name not in self.found and (match := pattern.search(line)):
                self.found[name] = match[1]

    @property
    def tp(self) -> int | None:
        return int(self.found["tp"]) if "tp" in self.found else None

    @property
    def pp(self) -> int:
        """Pipeline stages."""
        return int(self.found.get("pp", 1))

    @property
    def length(self) -> int | None:
        """The longest request that is accepted."""
        return int(self.found["length"]) if "length" in self.found else None

    @property
    def in_flight(self) -> int | None:
        """The most tokens of one step, ``max_num_batched_tokens``."""
        return int(self.found["in_flight"]) if "in_flight" in self.found else None

    @property
    def block_size(self) -> int | None:
        return int(self.found["block_size"]) if "block_size" in self.found else None

    @property
    def kv_dtype(self) -> str | None:
        """The cache dtype; None for ``auto``, which leaves it to the checkpoint."""
        named = self.found.get("kv_dtype", "auto").lower()
        return None if named == "auto" else named

    @property
    def dtype(self) -> str | None:
        """The model's own dtype, which the cache has where nothing else names one."""
        return self.found.get("dtype")

    @property
    def model(self) -> str | None:
        """The id of the snapshot's model the log names, if it is exactly one."""
        return known_model(self.found.get("model", ""))


def known_model(name: str) -> str | None:
    """The one model of the snapshot that a name or path stands for, however it is quantised.

    >>> known_model("/models/models--Qwen--Qwen3-235B-A22B-FP8/snapshots/0b5e")
    'Qwen/Qwen3-235B-A22B'
    >>> known_model("/home/me/secret")
    """
    for part in reversed(re.split(r"[/\\]", name)):
        wanted = _plain(part.rpartition("--")[2])
        same = [one for one in snapshot.ids() if _plain(one.rpartition("/")[2]) == wanted]
        if len(same) == 1:
            return same[0]
    return None


def _plain(name: str) -> str:
    return _QUANTISED.sub("", name.replace(" ", "-")).lower()
