"""An architecture built from its config class's defaults and run: what its cache holds.

In: a target and its change. Out: the model, and what it keeps after a prompt and after a decoded
token. On the meta device tensors have shapes and no values: full size, no memory.
"""

from __future__ import annotations

import contextlib
import inspect
import json
from collections.abc import Iterator
from typing import Any

from kvdocs.evidence.caches import MeasureError
from kvdocs.evidence.contents import Contents, contents, in_modules, returned, shown
from kvdocs.evidence.stand_ins import stand_ins
from kvdocs.evidence.targets import Change, Target

ENCODER_TOKENS = 30  # how many tokens an encoder is taken to have read


class NoCache(MeasureError):
    """A model ran and kept nothing."""


def default_config(target: Target, change: Change) -> Any:
    """The defaults with the change applied; of a nested config the part that the class takes."""
    import transformers
    from transformers import CONFIG_MAPPING

    nested = {name: value for name, value in change.set.items() if "." in name}
    plain = {name: value for name, value in change.set.items() if "." not in name}
    config = CONFIG_MAPPING[target.model_type](**plain)
    for name, value in nested.items():
        *parents, last = name.split(".")
        inner = config
        for parent in parents:
            inner = getattr(inner, parent)
        setattr(inner, last, value)
    wanted = getattr(transformers, target.class_name).config_class
    parts = [part for part in vars(config).values() if isinstance(part, wanted)]
    return config if isinstance(config, wanted) or not parts else parts[0]


def published(model: Any) -> dict[str, Any]:
    """The config.json that transformers writes for a model: what the formula gets to see."""
    found: dict[str, Any] = json.loads(model.config.to_json_string())
    return found | {"architectures": [type(model).__name__]}


def build(target: Target, config: Any, device: str, dtype: str, experts: str | None) -> Any:
    """The model of a config, without weights on ``meta``, with random ones on ``cpu``."""
    import torch
    import transformers

    model_class = getattr(transformers, target.class_name)
    with torch.device(device):
        model = model_class._from_config(
            config, dtype=getattr(torch, dtype), experts_implementation=experts
        )
    return model.eval()


def run(model: Any, prompt: int, change: Change, assume: bool) -> Iterator[tuple[int, Contents]]:
    """What the model keeps after a prompt, then after one decoded token, with the token counts.

    With ``assume``, values that meta tensors do not have are stood in for.

    Raises:
        NoCache: the model keeps nothing.
    """
    import torch

    encoder = _encoder_output(model) if model.config.is_encoder_decoder else {}
    past: dict[str, Any] = {}
    steps = [(prompt, prompt), (1, prompt + 1)] if change.decode else [(prompt, prompt)]
    for count, seen in steps:
        with torch.no_grad(), stand_ins() if assume else contextlib.nullcontext():
            out = model(**_inputs(model, count, change), **encoder, **past)
        past, found = _kept(model, out)
        yield seen, found


def _kept(model: Any, out: Any) -> tuple[dict[str, Any], Contents]:
    found = returned(out)
    layers = getattr(model.config.get_text_config(decoder=True), "num_hidden_layers", 0)
    if found is not None:
        name, kept = found
        return {name: kept}, contents(kept, layers)
    modules = in_modules(model)
    if not modules:
        raise NoCache("it returns no cache and keeps none in its modules")
    return {}, Contents("module attributes", (), (), shown(modules), (), ())


def _inputs(model: Any, count: int, change: Change) -> dict[str, Any]:
    import torch

    accepted = inspect.signature(model.forward).parameters
    ids = torch.zeros(change.rows, count, dtype=torch.long, device=model.device)
    name = "decoder_input_ids" if model.config.is_encoder_decoder else "input_ids"
    found: dict[str, Any] = {name: ids}
    if "use_cache" in accepted or "kwargs" in accepted:
        found["use_cache"] = True
    for name, shape in change.inputs.items():
        found[name] = torch.zeros(shape, dtype=model.dtype, device=model.device)
    return found


def _encoder_output(model: Any) -> dict[str, Any]:
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    config = model.get_encoder().config
    names = ("hidden_size", "d_model")
    width = next(getattr(config, name) for name in names if hasattr(config, name))
    states = torch.zeros(1, ENCODER_TOKENS, width, dtype=model.dtype, device=model.device)
    return {"encoder_outputs": BaseModelOutput(last_hidden_state=states)}
