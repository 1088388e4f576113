"""How many sequences a pool has room for, planned in several ways, and what each way risks.

In: the workload of a log, a pool, a risk. Out: one ``Estimate`` a way, from the most to the least
cautious. The naive ways take every sequence to be equally long; the last two take the log.
"""

from __future__ import annotations

from fractions import Fraction

from kvdocs.startup import dataclass
from kvdocs.workload.lengths import Workload, percentile
from kvdocs.workload.overflow import largest, overflow
from kvdocs.workload.space import Space


@dataclass(frozen=True)
class Estimate:
    """``sequences`` at once, which want more than the pool with probability ``overflow``.

    ``way`` is max_model_len, longest or p99, each with the ``tokens`` that every sequence is taken
    to have; most, all of the log's sequences at the most they ever hold; or moment, at a random
    moment of a server that is never idle. ``overflow`` is of the moment, but for most, whose own it
    is; it is rounded up.
    """

    way: str
    tokens: int | None
    sequences: int
    overflow: Fraction


def estimates(
    workload: Workload, space: Space, risk: Fraction, max_model_len: int | None = None
) -> list[Estimate]:
    """Every way; ``max_model_len`` only where it is given.

    Raises:
        ValueError: as ``kvdocs.workload.overflow.largest``.
    """
    moment = workload.at_a_moment(space)
    naive = {
        "max_model_len": max_model_len,
        "longest": max(workload.totals),
        "p99": percentile(workload.totals, 99),
    }
    found = []
    for way, tokens in naive.items():
        if tokens is not None:
            count = space.sequences(tokens)
            found.append(Estimate(way, tokens, count, overflow(moment, space.blocks, count)))
    longest = max(workload.totals)
    shared = space.most(longest) - space.writing(longest)  # by the batch in flight, once
    ways = (
        ("most", workload.at_their_most(space), space.blocks - shared),
        ("moment", moment, space.blocks),
    )
    for way, weights, blocks in ways:
        fit = largest(weights, blocks, risk)
        found.append(Estimate(way, None, fit.sequences, fit.overflow))
    return found
