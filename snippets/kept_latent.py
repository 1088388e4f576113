"""A layer that keeps one latent and one rotary key a token, as the sequence grows."""

from kvdocs.formula.layers import Latent
from kvdocs.site.charts import Band, kept, tokens_band

layer = Latent(kv_lora_rank=512, rope_dim=64)
share = layer.rope_dim / layer.kv_lora_rank


def bands(tokens: int) -> list[Band]:
    held = layer.tokens_kept(tokens)
    return [
        tokens_band("latent", "latent", tokens, held, height=2),
        tokens_band("rotary key", "key", tokens, held, height=2 * share),
    ]


print(kept("A latent and a rotary key", bands, "kept-latent"))
