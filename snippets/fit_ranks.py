"""What one token takes on each rank, and on all of them, as tensor parallelism grows."""

from kvdocs.engines.vllm.hold import Flags, hold
from kvdocs.engines.vllm.pool import rank_slope
from kvdocs.facts.models import Model
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import binary

MOST = 8
RANKS = (1, 2, 4, MOST)
MODELS = {
    "Qwen/Qwen3-30B-A3B": "4 KV heads",
    "meta-llama/Llama-3.1-70B-Instruct": "8 KV heads",
    "deepseek-ai/DeepSeek-V3": "latents",
}


def slope(found: Model, ranks: int) -> int:
    """Bytes a token takes on each of so many ranks."""
    return rank_slope(found.layout, hold(found, Flags(tensor_parallel_size=ranks)).options)


rows = []
for name, kind in MODELS.items():
    found = model(name)
    each = [slope(found, n) for n in RANKS]
    rows.append([found.name, kind, *(binary(size) for size in each), binary(each[-1] * RANKS[-1])])
header = ["model", "keeps", *(f"each of {n}" if n > 1 else "one card" for n in RANKS), "all 8"]
print(markdown(header, rows, "llrrrrr"))
