"""A layer that keeps a latent and an index key a token, as the sequence grows."""

from kvdocs.formula.layers import Latent
from kvdocs.formula.several import IndexKeys
from kvdocs.site.charts import Band, kept, tokens_band

latent, index = Latent(kv_lora_rank=512, rope_dim=64), IndexKeys(index_dim=128)


def bands(tokens: int) -> list[Band]:
    held, short = latent.tokens_kept(tokens), 2 / latent.kv_lora_rank
    return [
        tokens_band("latent", "latent", tokens, held, height=2),
        tokens_band("rotary key", "key", tokens, held, height=short * latent.rope_dim),
        tokens_band("index key", "index", tokens, held, height=short * index.index_dim),
    ]


print(kept("A latent, a rotary key and an index key", bands, "kept-index"))
