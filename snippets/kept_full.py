"""A layer that keeps every token, as the sequence grows."""

from kvdocs.formula.layers import FullAttention
from kvdocs.site.charts import kept, keys_and_values

layer = FullAttention(kv_heads=1, k_dim=64, v_dim=64)

print(kept("Every token is kept", lambda tokens: keys_and_values(layer, tokens), "kept-full"))
