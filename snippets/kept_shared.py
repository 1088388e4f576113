"""Two layers of which the second reads the cache of the first, as the sequence grows."""

from kvdocs.formula.layers import FullAttention
from kvdocs.site.charts import Band, kept, keys_and_values, tokens_band

first = FullAttention(kv_heads=1, k_dim=64, v_dim=64)


def bands(tokens: int) -> list[Band]:
    return [*keys_and_values(first, tokens), tokens_band("next layer", "key", tokens, kept=0)]


print(kept("The next layer keeps nothing of its own", bands, "kept-shared"))
