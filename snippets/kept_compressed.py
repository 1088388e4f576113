"""A layer that keeps a window, and one entry for every 4 tokens, as the sequence grows."""

from kvdocs.formula.compressed import Compressed
from kvdocs.formula.layers import SlidingWindow
from kvdocs.site.charts import Band, Cell, kept, tokens_band

window = SlidingWindow(kv_heads=1, k_dim=64, v_dim=0, window=6)
entries = Compressed(rate=4, entry=64, waiting=128)


def bands(tokens: int) -> list[Band]:
    held, rate = window.tokens_kept(tokens), entries.rate
    merged = tokens // rate * rate
    cells = tuple(Cell(first, first + rate - 1, True) for first in range(1, merged + 1, rate))
    return [
        tokens_band("K, also V", "key", tokens, held),
        Band("entries", "latent", cells),
        tokens_band("waiting", "index", tokens, tokens - merged),
    ]


print(kept("A window and compressed entries", bands, "kept-compressed", lengths=(3, 8, 14)))
