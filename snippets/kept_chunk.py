"""A layer with chunks of 8 tokens, as the sequence grows."""

from kvdocs.formula.layers import Chunk
from kvdocs.site.charts import kept, keys_and_values

layer = Chunk(kv_heads=1, k_dim=64, v_dim=64, window=8)

print(kept("Chunks of 8 tokens", lambda tokens: keys_and_values(layer, tokens), "kept-chunk"))
