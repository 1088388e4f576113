"""Where transformers caches another shape than the model needs: the same K and V several times.

In: an effective config. Out: whether that is so. Apart from ``cache.py``, so that ``kvdocs cost``
can ask without loading what only engines need.
"""

from __future__ import annotations

from kvdocs.formula.config import EffectiveConfig


def copies_heads(config: EffectiveConfig) -> bool:
    """Whether every attention head gets a copy of the K and V of its group.

    Falcon's new decoder (models/falcon/modeling_falcon.py:260-261 of transformers 5.24.0).
    """
    return config.model_type == "falcon" and config.flag("new_decoder_architecture")
