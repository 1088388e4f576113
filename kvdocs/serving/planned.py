"""A vLLM log of a model with windows or states, held against vLLM's own planning.

In: memory, tokens and the longest request as printed. Out: a ``Check`` of the tokens, because for
such models they are concurrency times the longest request and no rate gives them.
"""

from __future__ import annotations

import math
from fractions import Fraction

from kvdocs.serving.check import Check
from kvdocs.serving.log_phrase import Printed
from kvdocs.serving.subject import Subject
from kvdocs.serving.vllm import Options, plan

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
    """The check, if the tokens are what vLLM 0.33.0 plans for this memory; else None."""
    for batch in (in_flight,) if in_flight else IN_FLIGHT:
        try:
            options = Options(
                length, subject.dtype, block, subject.tp, max_num_batched_tokens=batch
            )
            low = plan(subject.layout, options, math.ceil(memory.low))
            high = plan(subject.layout, options, math.floor(memory.high))
        except ValueError:  # a dtype or a layer that vLLM 0.33.0 holds in another way
            return None
        if low.pool_tokens <= tokens <= high.pool_tokens:
            title = f"tokens as vLLM 0.33.0 plans them, {batch:,} tokens a step"
            middle = Fraction(low.pool_tokens + high.pool_tokens, 2)
            slack = Fraction(high.pool_tokens - low.pool_tokens, 2)
            return Check("plan", title, line, tokens - slack, tokens + slack, middle, "tokens")
    return None
