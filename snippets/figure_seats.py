"""Sequences against their length on one card: FP8 halves the price, windows bend the line."""

from kvdocs.facts.gpus import load_gpus
from kvdocs.fit.options import ask
from kvdocs.site.charts import Seats, seats
from kvdocs.site.scope import model

CURVES = (
    ("openai/gpt-oss-20b", "auto", "half of the layers have a window of 128"),
    ("Qwen/Qwen2.5-7B-Instruct", "fp8", "cache in FP8"),
    ("Qwen/Qwen2.5-7B-Instruct", "auto", "cache in 16 bits"),
    ("meta-llama/Llama-3.1-8B-Instruct", "auto", "cache in 16 bits"),
)
card = load_gpus()["rtx_4090"]


def points(model_id: str, dtype: str) -> tuple[tuple[int, int], ...]:
    """The sure number of sequences at each length that still fits."""
    found = model(model_id)
    answers = (ask(found, gpu=card.key, tokens=2**power, kv_dtype=dtype) for power in range(9, 15))
    return tuple((one.tokens, one.sure.sequences) for one in answers if one.sure.sequences)


print(
    seats(
        [Seats(model(name).name, note, points(name, dtype)) for name, dtype, note in CURVES],
        f"a {card.name}",
    )
)
