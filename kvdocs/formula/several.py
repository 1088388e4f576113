"""Layers that keep several things, index keys beside a latent first of all.

In: sizes from the config, or other layers. Out: bytes, as in ``layers.py``.
"""

from __future__ import annotations

from kvdocs.formula.layers import Latent, Layer, plural
from kvdocs.startup import dataclass


@dataclass(frozen=True)
class LatentWindow(Latent):
    """The latents of the last ``window`` tokens.

    >>> LatentWindow(kv_lora_rank=1024, rope_dim=64, window=512).bytes(4096, element_bytes=2)
    1114112
    """

    kind = "latent window"
    noun = "sliding layer"
    window: int


@dataclass(frozen=True)
class IndexKeys(Layer):
    """One short key a token, by which sparse attention chooses what to read: index_dim × T.

    ``float32`` keys take 4 bytes an element in every cache dtype.

    >>> IndexKeys(index_dim=128).bytes(tokens=1, element_bytes=2)
    256
    """

    kind = "index"
    noun = "index"
    index_dim: int
    float32: bool = False

    @property
    def elements_per_token(self) -> int:
        return self.index_dim

    def terms(self, count: int) -> list[str]:
        return [plural(count, "indexed layer"), f"{self.index_dim} index key"]

    def width(self, element_bytes: int) -> int:
        return 4 if self.float32 else element_bytes


@dataclass(frozen=True)
class Several(Layer):
    """A layer that keeps several things, such as a latent and index keys.

    >>> Several((Latent(512, 64), IndexKeys(128))).bytes(tokens=1, element_bytes=2)
    1408
    """

    members: tuple[Layer, ...]

    @property
    def parts(self) -> tuple[Layer, ...]:
        return self.members

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The kinds of its members, such as ``latent + index``."""
        return " + ".join(part.kind for part in self.members)

    @property
    def window(self) -> int | None:  # type: ignore[override]
        """Tokens of the longest window among its members; None without one."""
        return max((part.window for part in self.members if part.window is not None), default=None)

    @property
    def elements_per_token(self) -> int:
        return sum(part.elements_per_token for part in self.members)

    def bytes(self, tokens: int, element_bytes: int, encoder_tokens: int = 0) -> int:
        return sum(part.bytes(tokens, element_bytes, encoder_tokens) for part in self.members)


@dataclass(frozen=True)
class Positions(Layer):
    """The positions of all tokens as 8-byte integers, ``axes`` of them a token (Qwen4-Exp).

    >>> Positions(axes=3).bytes(tokens=10, element_bytes=2)
    240
    """

    kind = "positions"
    axes: int

    @property
    def elements_per_token(self) -> int:
        return self.axes

    def terms(self, count: int) -> list[str]:
        return [f"{plural(count, 'layer')} with positions", f"{self.axes} axes"]

    def width(self, element_bytes: int) -> int:
        return 8
