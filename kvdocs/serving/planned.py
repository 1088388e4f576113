"""A vLLM log of a model with windows or states, held against vLLM's own planning.

In: memory, tokens and the longest request as printed. Out: a ``Check`` of the tokens, because for
such models they are concurrency times the longest request and no rate gives them.
"""

from __future__ import annotations

import math
from fractions import Fraction

from kvdocs.serving.check import Check
from kvdocs.serving.logs.phrase import Printed
from kvdocs.serving.remarks import SHARED_PAGES
from kvdocs.serving.subject import Subject
from kvdocs.serving.vllm.compressed import compresses
from kvdocs.serving.vllm.layers import RankState
from kvdocs.serving.vllm.pool import Options, plan
from kvdocs.serving.vllm.states import rank_state

# Defaults of max_num_batched_tokens, which a log does not always print (engine/arg_utils.py:2973).
IN_FLIGHT = (2048, 8192, 16384)


def planned(
    memory: Printed,
    tokens: Fraction,
    line: int,
    length: int,
    in_flight: int | None,
    block: int,
    subject: Subject,
) -> Check | None:
    """The check, if the tokens are what vLLM 0.33.0 plans for this memory; else None.

    What the log may not say is tried: the tokens of a step, and the kernel of a delta rule, which
    pads its states on newer cards.
    """
    # DeepSeek V4 is held in a format of its own, whatever the dtype of the model.
    dtype = "auto" if compresses(subject.layout) and not subject.dtype_known else subject.dtype
    for state in _states(subject):
        for batch in (in_flight,) if in_flight else IN_FLIGHT:
            try:
                chosen = Options(
                    length,
                    dtype,
                    block,
                    subject.tp,
                    max_num_batched_tokens=batch,
                    state=state,
                )
                ends = math.ceil(memory.low), round(memory.value), math.floor(memory.high)
                low, formula, high = (
                    plan(subject.layout, chosen, size).pool_tokens for size in ends
                )
            except ValueError:  # a dtype or a layer that vLLM 0.33.0 holds in another way
                return None
            if low <= tokens <= high:
                title = f"tokens as vLLM 0.33.0 plans them, {batch:,} tokens a step"
                # Alike is what other memory of the same print gives, as far above and below.
                alike = tokens + formula - high, tokens + formula - low
                return Check(
                    "plan",
                    title,
                    line,
                    tokens,
                    *alike,
                    Fraction(formula),
                    "tokens",
                    (SHARED_PAGES,),
                )
    return None


def _states(subject: Subject) -> list[RankState | None]:
    """The states one rank may hold; [None] for a model without."""
    if not subject.has_states:
        return [None]
    try:
        states = (
            rank_state(subject.config, subject.tp, subject.name, newer) for newer in (False, True)
        )
        return list(dict.fromkeys(states))
    except ValueError:
        return []
