"""The settings a log states: which model, how many ranks, which cache dtype.

In: lines of a log. Out: ``Settings``, those of one start-up. A model's name is compared with the
models of the snapshot and never shown or sent anywhere, because a path in a log may be private.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

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
        ("dcp", rf"decode[_-]context[_-]parallel[_-]size{_IS}{_NUMBER}"),
        # Before the size of the cache, in releases that print no such setting.
        ("dcp", rf"cache size by the d?cp_world_size {_NUMBER}"),
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


HINTS = (
    b"LLM engine",
    b"vllm serve",
    b" -tp ",
    b" --tp ",
    *b"tensor_parallel tensor-parallel tp_size --tp-size kv_cache_dtype kv-cache-dtype".split(),
    *b"kv_cache_quant_algo block_size block-size max_model_len max-model-len cp_world_size".split(),
    *b"max_num_batched_tokens max-num-batched-tokens max_seq_len decode_context_parallel".split(),
    *b"decode-context-parallel model_path --model general.name".split(),
)
_WORDS = tuple(hint.decode() for hint in HINTS)


def stated(line: str) -> dict[str, str]:
    """The settings that a line states; of two mentions the first counts.

    >>> stated("vllm serve Qwen/Qwen3-14B --tensor-parallel-size 2")
    {'tp': '2', 'model': 'Qwen/Qwen3-14B'}
    """
    found: dict[str, str] = {}
    if any(word in line for word in _WORDS):
        for name, pattern in _PATTERNS:
            if name not in found and (match := pattern.search(line)):
                found[name] = match[1]
    return found


@dataclass
class Settings:
    """What the log says of one start-up, from ``line`` (from 1) on; None where it does not say.

    ``before`` is what an earlier start-up said, where only some settings are stated anew.
    """

    line: int = 1
    found: dict[str, str] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)

    def take(self, stated: Mapping[str, str]) -> None:
        """Take up what a line states. The first mention counts."""
        if "model" in stated:
            self.before = {}
        self.found = {**stated, **self.found}

    def next(self, stated: Mapping[str, str], line: int) -> Settings | None:
        """The settings of the next start-up, if a line after a pool's size begins one: it names the
        model, or gives a setting another value; then the others stay."""
        if "model" in stated:
            return Settings(line, dict(stated))
        if all(self._get(name) in (None, value) for name, value in stated.items()):
            return None
        return Settings(line, dict(stated), {**self.before, **self.found})

    def _get(self, name: str) -> str | None:
        return self.found.get(name, self.before.get(name))

    def _number(self, name: str) -> int | None:
        value = self._get(name)
        return int(value) if value else None

    @property
    def tp(self) -> int | None:
        return self._number("tp")

    @property
    def pp(self) -> int:
        """Pipeline stages."""
        return self._number("pp") or 1

    @property
    def dcp(self) -> int:
        """Ranks over which the tokens of a request are spread (decode context parallelism)."""
        return self._number("dcp") or 1

    @property
    def length(self) -> int | None:
        """The longest request that is accepted."""
        return self._number("length")

    @property
    def in_flight(self) -> int | None:
        """The most tokens of one step, ``max_num_batched_tokens``."""
        return self._number("in_flight")

    @property
    def block_size(self) -> int | None:
        return self._number("block_size")

    @property
    def kv_dtype(self) -> str | None:
        """The cache dtype; None for ``auto``, which leaves it to the checkpoint."""
        named = (self._get("kv_dtype") or "auto").lower()
        return None if named == "auto" else named

    @property
    def dtype(self) -> str | None:
        """The model's own dtype, which the cache has where nothing else names one."""
        return self._get("dtype")

    @property
    def version(self) -> tuple[int, ...]:
        """The engine's version, as in (0, 11, 0); empty where it is not stated."""
        return tuple(int(part) for part in (self._get("version") or "").split(".") if part)

    @property
    def model(self) -> str | None:
        """The id of the snapshot's model the log names, if it is exactly one."""
        return known_model(self._get("model") or "")


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
