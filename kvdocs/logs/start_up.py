"""The settings of one start-up, as its log states them: the model, the ranks, the cache dtype.

In: the settings that lines state. Out: a ``StartUp``. A model's name is compared with the models of
the snapshot and never shown or sent anywhere, because a path in a log may be private.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from kvdocs.facts import snapshot
from kvdocs.startup import dataclass

_QUANTISED = (
    r"[-_.](?:fp8|awq|gptq|int4|int8|w\d+a\d+|nvfp4|mxfp4|bf16|gguf|q\d\w*|ud|dynamic|quantized"
    r"|\d+bit|block)(?=[-_.]|$).*"
)


@dataclass
class StartUp:
    """The settings of one start-up, from ``line`` (from 1) on; None where the log does not say.

    ``before`` are those of an earlier start-up, where only some settings are stated anew.
    """

    line: int = 1
    found: dict[str, str] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)

    def take(self, settings: Mapping[str, str]) -> None:
        """Take up the settings in a line. The first mention counts."""
        if "model" in settings:
            self.before = {}
        self.found = {**settings, **self.found}

    def next(self, settings: Mapping[str, str], line: int) -> StartUp | None:
        """The next start-up, if a line after a pool's size begins one: it names the model, or gives
        a setting another value; then the others stay."""
        if "model" in settings:
            return StartUp(line, dict(settings))
        if all(self._get(name) in (None, value) for name, value in settings.items()):
            return None
        return StartUp(line, dict(settings), {**self.before, **self.found})

    def _get(self, name: str) -> str | None:
        return self.found.get(name, self.before.get(name))

    def _number(self, name: str) -> int | None:
        value = self._get(name)
        return int(value) if value else None

    @property
    def tp(self) -> int | None:
        """Ranks of tensor parallelism."""
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
        """Tokens of a block."""
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
    return re.sub(_QUANTISED, "", name.replace(" ", "-"), flags=re.IGNORECASE).lower()
