"""What one token takes in vLLM's cache formats, scales included."""

from fractions import Fraction

from kvdocs.engines.vllm.dtypes import KV_DTYPES
from kvdocs.engines.vllm.hold import Flags, hold
from kvdocs.engines.vllm.pool import rank_slope
from kvdocs.facts.models import Model
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import ratio

HEADS, LATENTS = model("Qwen/Qwen2.5-7B-Instruct"), model("deepseek-ai/DeepSeek-V3")


def cell(found: Model, dtype: str) -> str:
    """Bytes of a token and its share of 16 bits, or a dash where vLLM has no kernel for it."""
    try:
        size, plain = (
            rank_slope(found.layout, hold(found, Flags(kv_cache_dtype=one)).options)
            for one in (dtype, "auto")
        )
    except ValueError:
        return "–"
    share = Fraction(100 * size, plain)
    return f"{size:,} bytes, {ratio(share.numerator, share.denominator, 1)}%"


rows = [[f"`{name}`", cell(HEADS, name), cell(LATENTS, name)] for name in KV_DTYPES]
print(markdown(["`--kv-cache-dtype`", HEADS.name, LATENTS.name], rows, "lrr"))
