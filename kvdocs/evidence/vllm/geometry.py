"""What vLLM 0.33.0 reads from a published config, with its own code.

In: a config. Out: a ``Geometry``: head counts, head sizes and what each layer is.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvdocs.facts.snapshot import load_all

COMPRESSED = {"compressed_sparse_attention", "heavily_compressed_attention"}
PATTERN = {"M": "mamba", "*": "full_attention", "-": "none", "E": "none"}


@dataclass(frozen=True)
class Geometry:
    """What vLLM reads from a config: ``arch`` is its ModelArchitectureConfig, ``text`` the config
    of the language model, ``kinds`` what each layer is."""

    arch: Any
    text: Any
    kinds: tuple[str, ...]

    @property
    def states(self) -> bool:
        """Whether some layers keep a state."""
        return bool({"linear_attention", "mamba", "hybrid"} & set(self.kinds))

    @property
    def compresses(self) -> bool:
        """Whether some layers keep one entry for several tokens."""
        return bool(COMPRESSED & set(self.kinds))


def geometry(config: Mapping[str, Any]) -> Geometry:
    """What vLLM reads from a published config, with its own code.

    Raises:
        ValueError: vLLM or its transformers does not know the architecture.
    """
    import vllm.config  # noqa: F401  first: the modules below import it, and it them
    from vllm.transformers_utils.config import get_config, get_hf_text_config
    from vllm.transformers_utils.model_arch_config_convertor import (
        MODEL_ARCH_CONFIG_CONVERTORS,
        ModelArchConfigConvertorBase,
    )

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(config), encoding="utf-8")
        whole = get_config(folder, trust_remote_code=False)
        text = get_hf_text_config(whole)
        convertor = MODEL_ARCH_CONFIG_CONVERTORS.get(whole.model_type, ModelArchConfigConvertorBase)
        arch = convertor(whole, text).convert()
    return Geometry(arch, text, _layer_kinds(text, arch.total_num_hidden_layers))


def _layer_kinds(text: Any, layers: int) -> tuple[str, ...]:
    """What each layer is, as the model classes read it.

    Raises:
        ValueError: layers that are not built here.
    """
    if text.model_type == "falcon_h1":  # attention and a state in every layer
        return ("hybrid",) * layers
    pattern = getattr(text, "hybrid_override_pattern", None)  # models/nemotron_h.py:597
    if pattern:
        return tuple(PATTERN[letter] for letter in pattern)
    types = getattr(text, "layer_types", None) or getattr(text, "layers_block_type", None)
    if types is None or set(types) == {"sliding_attention"}:  # engine/arg_utils.py:2288
        window = getattr(text, "sliding_window", None)
        kinds = ["sliding_attention" if window else "full_attention"] * layers
    else:
        full = ("attention", "indexed_attention")
        kinds = ["full_attention" if kind in full else kind for kind in types]
    own = layers - (getattr(text, "num_kv_shared_layers", None) or 0)  # models/gemma4.py:404
    kinds[own:] = ["none"] * (layers - own)
    known = {"full_attention", "sliding_attention", "chunked_attention", *COMPRESSED}
    if unknown := set(kinds) - known - {"linear_attention", "mamba", "hybrid", "none"}:
        raise ValueError(f"no layer of vLLM's is built here for {', '.join(sorted(unknown))}")
    return tuple(kinds)


def published(model_id: str) -> dict[str, Any]:
    """The config of a model of the snapshot."""
    return next(dict(model.config) for model in load_all() if model.id == model_id)
