"""A layer with a window of 6 tokens, as the sequence grows."""

from kvdocs.formula.layers import SlidingWindow
from kvdocs.site.charts import kept, keys_and_values

layer = SlidingWindow(kv_heads=1, k_dim=64, v_dim=64, window=6)

print(kept("A window of 6 tokens", lambda tokens: keys_and_values(layer, tokens), "kept-window"))
