"""An architecture built from its config class's defaults and run: what its cache holds.

In: a target and its change. Out: the model, and what it keeps after a prompt and after a decoded
token. On the meta device tensors have shapes and no values: full size, no memory.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any

from kvdocs.evidence.transformers.caches import MeasureError, returned
from kvdocs.evidence.transformers.contents import NOTHING, Contents, contents, in_modules
from kvdocs.evidence.transformers.stand_ins import stand_ins
from kvdocs.evidence.transformers.targets import Change, Target
from kvdocs.formula import CacheLayout

ENCODER_TOKENS = 30  # how long an encoder's output is taken to be, where the model does not fix it

Zeros = Callable[..., Any]  # torch.zeros on the model's device


class NoCache(MeasureError):
    """A model ran and kept nothing."""


def build(target: Target, change: Change, dtype: str, experts: str | None) -> Any:
    """The model, without weights on ``meta``, with random ones on ``cpu``.

    ``experts`` is transformers' name for the code that runs a mixture of experts.
    """
    import torch
    import transformers

    model_class = getattr(transformers, target.class_name)
    config = _part_for(_default_config(target, change), model_class.config_class)
    with torch.device(change.device):
        model = model_class._from_config(
            config, dtype=getattr(torch, dtype), experts_implementation=experts
        )
    return model.eval()


def published(model: Any) -> dict[str, Any]:
    """The config.json that transformers writes for a model: what the formula gets to see."""
    found: dict[str, Any] = json.loads(model.config.to_json_string())
    return found | {"architectures": [type(model).__name__]}


def encoder_tokens(model: Any, layout: CacheLayout | None) -> int:
    """How long the encoder's output is: none, as the layout fixes it, or as we choose."""
    if not model.config.is_encoder_decoder:
        return 0
    parts = [part for layer in layout.layers for part in layer.parts] if layout else []
    return next((n for p in parts if (n := getattr(p, "encoder_tokens", None))), ENCODER_TOKENS)


def run(
    model: Any, prompt: int, encoder: int, change: Change, assume: bool, at_rest: int
) -> Iterator[tuple[int, int, Contents]]:
    """Tokens seen, new tokens and what is kept: after a prompt, then after one decoded token.

    Where there is an encoder, its output is ``encoder`` tokens long. With ``assume``, values that
    meta tensors do not have are stood in for. ``at_rest`` is what ``in_modules`` held at first.

    Raises:
        NoCache: the model keeps nothing.
    """
    import torch

    part = attrgetter(change.part)(model) if change.part else model
    zeros = partial(torch.zeros, device=change.device)
    fixed = _fixed_inputs(part, change, zeros)
    if encoder:
        fixed |= _encoder_output(part, encoder, change, zeros)
    past = _given_cache(part) if change.give_cache else {}
    for seen, new in ((prompt, prompt), (prompt + 1, 1))[: 2 if change.decode else 1]:
        ids = {_ids_name(part): zeros(_ids_shape(change, new), dtype=torch.long)}
        if change.drafts:
            ids |= _of_the_drafted(part, seen, zeros)
        with torch.no_grad(), stand_ins() if assume else contextlib.nullcontext():
            out = part(**ids, **fixed, **past)
        past = returned(out) or past
        in_model = in_modules(model) - at_rest
        if not past and not in_model:
            raise NoCache("it returns no cache and keeps none in its modules")
        yield seen, new, _contents(part, past, in_model)


def _default_config(target: Target, change: Change) -> Any:
    from transformers import CONFIG_MAPPING

    plain = {name: value for name, value in change.set.items() if "." not in name}
    config = CONFIG_MAPPING[target.model_type](**plain)
    for name, model_type in change.swap.items():
        vars(config)[name] = CONFIG_MAPPING[model_type]()  # past the check of its class
    for name in change.set.keys() - plain.keys():
        parent, _, last = name.rpartition(".")
        setattr(attrgetter(parent)(config), last, change.set[name])
    return config


def _part_for(config: Any, wanted: type) -> Any:
    """The config itself, or that part of a nested one which the model's class takes."""
    parts = [part for part in vars(config).values() if isinstance(part, wanted)]
    return parts[0] if parts and not isinstance(config, wanted) else config


def _contents(model: Any, past: dict[str, Any], in_model: int) -> Contents:
    layers = getattr(model.config.get_text_config(decoder=True), "num_hidden_layers", 0)
    found = next((contents(kept, layers) for kept in past.values()), NOTHING)
    if not model.config.is_encoder_decoder:  # BLT uses both halves of such a cache for one sequence
        found = replace(found, own=found.own + found.cross, cross=())
    return replace(found, outside=found.outside + in_model)


def _given_cache(model: Any) -> dict[str, Any]:
    from transformers import DynamicCache

    return {"cache": DynamicCache(config=model.config)}


def _fixed_inputs(model: Any, change: Change, zeros: Zeros) -> dict[str, Any]:
    import torch

    accepted = inspect.signature(model.forward).parameters
    found = {"use_cache": True} if {"use_cache", "kwargs"} & set(accepted) else {}
    for name, shape in change.inputs.items():
        whole = name.endswith(("_ids", "_mask"))
        found[name] = zeros(shape, dtype=torch.long if whole else model.dtype)
    return found


def _of_the_drafted(model: Any, seen: int, zeros: Zeros) -> dict[str, Any]:
    """What a draft model is given by the model it drafts for: one token, as two inputs side by
    side, and K and V of one layer of each type."""
    text, dtype = model.config.get_text_config(), model.dtype
    shared = {}
    for index, name in enumerate(text.layer_types):
        own = text.per_layer_config[index]
        shape = [1, own.num_key_value_heads, seen, own.head_dim]
        shared[name] = zeros(shape, dtype=dtype), zeros(shape, dtype=dtype)
    inputs = zeros([1, 1, 2 * model.config.backbone_hidden_size], dtype=dtype)
    return {"inputs_embeds": inputs, "shared_kv_states": shared}


def _ids_name(model: Any) -> str:
    return "decoder_input_ids" if model.config.is_encoder_decoder else "input_ids"


def _ids_shape(change: Change, count: int) -> list[int]:
    return [change.rows, count, change.codebooks] if change.codebooks else [change.rows, count]


def _encoder_output(model: Any, tokens: int, change: Change, zeros: Zeros) -> dict[str, Any]:
    """An encoder's output of zeros; nothing is masked and no expert was chosen for it."""
    from transformers.modeling_outputs import BaseModelOutput, BaseModelOutputWithPooling

    config = getattr(model.get_encoder(), "config", model.config)
    config = config.get_text_config() if hasattr(config, "text_config") else config
    width = next(getattr(config, n) for n in ("hidden_size", "d_model") if hasattr(config, n))
    states = zeros([1, tokens, width], dtype=model.dtype)
    output = BaseModelOutput(last_hidden_state=states)
    if change.pooled:
        pooled = zeros([1, tokens, change.pooled], dtype=model.dtype)
        output = BaseModelOutputWithPooling(last_hidden_state=states, pooler_output=pooled)
    output.attention_mask = output.router_logits = None
    return {"encoder_outputs": output}
