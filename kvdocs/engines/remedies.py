"""What would make it fit, in order of what it costs in quality and money.

In: a ``Deployment``. Out: the same with one thing changed: a smaller cache, smaller weights,
another card, more cards. Whoever asks tries them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kvdocs.engines.deployment import Deployment
from kvdocs.engines.terms import MIB
from kvdocs.engines.weights import weights_in
from kvdocs.facts.gpus import load_gpus
from kvdocs.startup import dataclass
from kvdocs.units import binary


@dataclass(frozen=True)
class Remedy:
    """A deployment with one thing changed: by which flag, and what that is in words."""

    flag: str
    text: str
    deployment: Deployment


def remedies(on: Deployment, tokens: int, users: int) -> Iterator[Iterator[Remedy]]:
    """The kinds of change, each from the least to the most: the first of a kind that helps will do.

    ``users`` sequences of ``tokens`` tokens are wanted. Where the memory for the cache is stated,
    what the weights and the card would change is not known.
    """
    yield _smaller_cache(on, tokens, users)
    if on.available is None:
        yield _smaller_weights(on)
        yield _another_card(on)
        yield _more_cards(on)


def _smaller_cache(on: Deployment, tokens: int, users: int) -> Iterator[Remedy]:
    for change in on.engine.smaller_caches(on.model, on.flags, on.gpu, tokens, users):
        yield Remedy(change.flag, change.text, replace(on, flags=change.flags))


def _smaller_weights(on: Deployment) -> Iterator[Remedy]:
    for dtype in on.engine.SMALLER_WEIGHTS:
        try:
            size, source = weights_in(on.model, dtype, on.engine.WEIGHT_BITS)
        except ValueError:
            return
        held = on.held_weights()
        if held is not None and size < held[0]:
            bits = float(on.engine.WEIGHT_BITS[dtype])
            text = f"weights of {bits:g} bits, about {binary(size)}"
            changed = replace(on, weights=size, weights_source=source)
            yield Remedy(f"--weights-dtype {dtype}", text, changed)


def _another_card(on: Deployment) -> Iterator[Remedy]:
    for card in sorted(load_gpus().values(), key=lambda card: card.memory_mib):
        if card.memory_mib * MIB > on.memory:
            text = f"another card: {card.name}, {card.memory_mib:,} MiB"
            changed = replace(on, gpu=card, memory=card.memory_mib * MIB)
            yield Remedy(f"--gpu {card.key}", text, changed)


def _more_cards(on: Deployment) -> Iterator[Remedy]:
    for change in on.engine.more_cards(on.flags):
        yield Remedy(change.flag, change.text, replace(on, flags=change.flags))
