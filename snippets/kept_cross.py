"""A decoder layer that also keeps K and V of an encoder's 6 outputs, as the sequence grows."""

from kvdocs.formula.layers import FullAttention
from kvdocs.site.charts import Band, kept, keys_and_values, tokens_band

own = FullAttention(kv_heads=1, k_dim=64, v_dim=64)
ENCODER = 6


def bands(tokens: int) -> list[Band]:
    return [
        tokens_band("encoder, K", "key", ENCODER, ENCODER),
        tokens_band("encoder, V", "value", ENCODER, ENCODER),
        *keys_and_values(own, tokens),
    ]


print(kept("K and V of the encoder, and the decoder's own", bands, "kept-cross"))
