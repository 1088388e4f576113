"""What serves the requests of a log: options in, the pool of vLLM that they meet out.

In: what was asked, as text or numbers. Out: a ``Served``, or the contradiction between two options.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from kvdocs.engines import engine
from kvdocs.engines.deployment import Deployment
from kvdocs.engines.terms import MIB, Term, total
from kvdocs.engines.vllm import hold as vllm
from kvdocs.engines.vllm.pool import Pool
from kvdocs.facts.given import model_of
from kvdocs.facts.gpus import gpu_named
from kvdocs.literal import size_of
from kvdocs.startup import dataclass
from kvdocs.workload.space import Space

FLAGS = ("tp", "pp", "utilization", "max_num_batched_tokens")
ANY_POOL = ("pool_tokens", "max_num_batched_tokens", "max_model_len")  # these need no model
OPTIONS = ("model", "gpu", "available", "weights", "kv_dtype", *FLAGS[:3], *ANY_POOL)


@dataclass(frozen=True)
class Served:
    """The space that requests meet, and what it was worked out from.

    ``deployment`` and ``pool`` are None where no model was named; ``terms`` are empty where the
    pool was stated in tokens.
    """

    space: Space
    deployment: Deployment | None = None
    pool: Pool | None = None
    terms: tuple[Term, ...] = ()

    @property
    def available(self) -> int | None:
        """Bytes for the cache on each rank, with every range at its worse end; None in tokens."""
        return total(self.terms) if self.terms else None


def served(options: Mapping[str, Any]) -> Served | None:
    """The pool that the options describe; None where they describe none.

    ``options`` has all ``OPTIONS`` by name, None where one was not given.

    Raises:
        ValueError: they contradict one another, there is no such model or card, vLLM refuses the
            model under these flags, or the pool has no room.
    """
    given = {name for name, value in options.items() if value is not None}
    if not given & {"gpu", "available", "pool_tokens"}:
        if given:
            raise ValueError("no pool: give --gpu, --available or --pool-tokens as well")
        return None
    if "model" in given:
        return _of_model(options)
    for name in sorted(given.difference(ANY_POOL)):
        flag = f"--{name.replace('_', '-')}"
        raise ValueError(f"{flag} is about a model: give --model, whose cache the pool is to hold")
    flags = vllm.flags(max_num_batched_tokens=options["max_num_batched_tokens"])
    return Served(Space.every_token(options["pool_tokens"] // flags.block_size, flags))


def _of_model(options: Mapping[str, Any]) -> Served:
    available, weights = (size(name, options[name]) for name in ("available", "weights"))
    in_tokens = options["pool_tokens"]
    if available is not None or in_tokens is not None:
        for name in ("weights", "utilization"):
            if options[name] is not None:
                raise ValueError(
                    f"--{name} has no effect beside --available or --pool-tokens, which is what is "
                    "left after it. Leave one of the two out"
                )
    own = {name: options[name] for name in FLAGS if options[name] is not None}
    card = gpu_named(options["gpu"]) if options["gpu"] is not None else None
    asked = Deployment(
        model_of(options["model"]),
        engine("vllm"),
        vllm.flags(options["kv_dtype"] or "auto", **own),
        gpu=card,
        memory=card.memory_mib * MIB if card else 0,
        weights=weights,
        available=0 if in_tokens is not None else available,
    )
    pool = vllm.hold(asked.model, asked.flags, card)
    if in_tokens is not None:
        return Served(Space.of_tokens(pool, in_tokens), asked, pool)
    terms = asked.terms()
    if available is None and total(terms) <= 0:
        raise ValueError(
            f"{asked.model.id} leaves nothing for the cache on this card, with every range at its "
            "worse end; kvdocs fit shows the sum. Name another --gpu, or state --available"
        )
    return Served(Space.of_pool(pool, total(terms)), asked, pool, terms)


def size(name: str, given: str | int | None) -> int | None:
    """Bytes, stated as a number of them or as text with a unit.

    Raises:
        ValueError: it is no size.
    """
    return size_of(f"--{name}", given) if isinstance(given, str) else given


def risk_of(given: str | float | Fraction) -> Fraction:
    """A risk: a share, or text such as ``1%`` or ``0.01``.

    Raises:
        ValueError: it is not from 0.0001% to below 100%.

    >>> risk_of("1%"), risk_of("0.05")
    (Fraction(1, 100), Fraction(1, 20))
    """
    text = str(given)
    try:
        risk = Fraction(text.removesuffix("%").strip()) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        risk = Fraction(0)
    if not text.isascii() or not Fraction(1, 10**6) <= risk < 1:
        raise ValueError(f"--risk {text[:40]!r} is not from 0.0001% to below 100%")
    return risk
