"""What one token takes in vLLM's cache formats, scales included."""

from fractions import Fraction

from kvdocs.engines.vllm.dtypes import KV_DTYPES
from kvdocs.engines.vllm.kernels import refusal
from kvdocs.engines.vllm.pool import Options, rank_slope
from kvdocs.facts.models import Model
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import ratio

HEADS, LATENTS = model("Qwen/Qwen2.5-7B-Instruct"), model("deepseek-ai/DeepSeek-V3")


def cell(found: Model, dtype: str) -> str:
    """Bytes of a token and its share of 16 bits, or a dash where vLLM has no kernel for it."""
    kept = KV_DTYPES[dtype]
    none = (kept.head if found is HEADS else kept.latent) is None
    if none or refusal(dtype, found.layout, found.config):
        return "–"
    size = rank_slope(found.layout, Options(4096, kv_cache_dtype=dtype))
    share = Fraction(100 * size, rank_slope(found.layout, Options(4096)))
    return f"{size:,} bytes, {ratio(share.numerator, share.denominator, 1)}%"


rows = [[f"`{name}`", cell(HEADS, name), cell(LATENTS, name)] for name in KV_DTYPES]
print(markdown(["`--kv-cache-dtype`", HEADS.name, LATENTS.name], rows, "lrr"))
