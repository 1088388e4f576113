"""A model built from its config and run: what its cache holds, layer by layer.

In: a published config and a device. Out: per step and layer the bytes the cache's tensors show
and the bytes of memory behind them. torch and transformers are imported when first needed.

Only classes that transformers ships are built; code from the Hub is never run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kvdocs.formula.dtypes import element_bytes
from kvdocs.units import binary

if TYPE_CHECKING:
    import torch

# Kimi-K2 publishes its own copy of DeepSeek-V3's code; transformers' class is the same model.
SAME_CLASS = {"kimi_k2": "deepseek_v3"}
# Keys that name code on the Hub, or how weights are stored: neither decides a cache's size.
NOT_FOR_THE_CLASS = ("model_type", "auto_map", "quantization_config", "dtype", "torch_dtype")
# Under which names models return what they keep, newest first.
NAMES = ("cache", "past_key_values", "cache_params", "state", "mems", "past_buckets_states")


class MeasureError(ValueError):
    """A cache that cannot be measured here; the message says why and what to do next."""


def build_decoder(config: Mapping[str, Any], source: str, device: str, dtype: str) -> Any:
    """The text decoder of a published config; its weights are random, on ``meta`` it has none.

    Raises:
        MeasureError: the architecture, the device or the memory is missing.
    """
    whole = _auto_config(config, source)
    text = whole if whole.is_encoder_decoder else whole.get_text_config(decoder=True)
    model = _build(text, source, "meta", dtype)
    if device == "meta":
        return model
    need, room = parameters(model) * element_bytes(dtype), _memory(device)
    if need > room:
        raise MeasureError(
            f"{source}: its weights take {binary(need)} and {device} has {binary(room)}. "
            "Use --device meta, which needs no memory."
        )
    return _build(text, source, device, dtype)


def parameter_bytes(config: Mapping[str, Any], source: str) -> int:
    """Parameters of the whole published model, a vision tower included, times 2 bytes.

    Raises:
        MeasureError: torch, transformers or the architecture is missing.
    """
    packages()
    return parameters(_build(_auto_config(config, source), source, "meta", "bfloat16")) * 2


def parameters(model: Any) -> int:
    """How many parameters a model has; tied ones count once."""
    return sum(parameter.numel() for parameter in model.parameters())


def cache_after_each_step(
    model: Any, source: str, prompt: int, decoded: int
) -> Iterator[tuple[int, Any]]:
    """Run a prompt, then ``decoded`` single tokens; each time the new tokens and the cache.

    Raises:
        MeasureError: the installed pair cannot run the model on its device, or returns no cache.
    """
    import torch

    past: dict[str, Any] = {}
    for count in [prompt] + [1] * decoded:
        ids = torch.zeros(1, count, dtype=torch.long, device=model.device)
        try:
            with torch.no_grad():
                out = model(**_inputs(model, ids), use_cache=True, **past)
        except RuntimeError as error:
            raise _cannot_run(source, str(model.device), error) from error
        past = returned(out)
        if not past:
            raise MeasureError(f"{source}: its class returns no cache.")
        del out, ids  # what is left on the device is the model and its cache
        yield count, next(iter(past.values()))


def returned(out: Mapping[str, Any]) -> dict[str, Any]:
    """What a model returned of what it keeps, under its name there; empty if nothing."""
    found = [name for name in NAMES if out.get(name) is not None]
    return {name: out[name] for name in found[:1]}


def _inputs(model: Any, ids: torch.Tensor) -> dict[str, Any]:
    """The tokens, and the encoder's output where the model has an encoder of a fixed length."""
    import torch

    if not model.config.is_encoder_decoder:
        return {"input_ids": ids, "logits_to_keep": 1}
    length, width = model.config.max_source_positions, model.config.hidden_size
    read = torch.zeros(1, length, width, dtype=model.dtype, device=model.device)
    return {"decoder_input_ids": ids, "encoder_outputs": (read,)}


def held(cache: Any, source: str) -> list[tuple[int, int]]:
    """Per layer the bytes its tensors show, and the bytes of memory behind them.

    Raises:
        MeasureError: the cache has no list of layers, or keeps tensors that belong to none.
    """
    if hasattr(cache, "cross_attention_cache"):
        parts = (
            held(cache.self_attention_cache, source),
            held(cache.cross_attention_cache, source),
        )
        return [(a + c, b + d) for (a, b), (c, d) in zip(*parts, strict=True)]
    if not hasattr(cache, "layers"):
        raise MeasureError(
            f"{source}: transformers {versions()['transformers']} keeps a {type(cache).__name__}, "
            "which has no layers to compare. Upgrade transformers."
        )
    others = {name: value for name, value in vars(cache).items() if name != "layers"}
    if any(tensor.dim() for tensor in tensors(others)):
        raise MeasureError(f"{source}: its cache keeps tensors outside its layers.")
    found = []
    for layer in cache.layers:
        # Tensors without a dimension are counters; one under two names is held once.
        kept = {id(tensor): tensor for tensor in tensors(vars(layer)) if tensor.dim()}.values()
        shown = sum(tensor.numel() * tensor.element_size() for tensor in kept)
        found.append((shown, sum(tensor.untyped_storage().nbytes() for tensor in kept)))
    return found


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """Every tensor in ``value``, through dictionaries, lists and tuples."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from tensors(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def packages() -> tuple[Any, Any]:
    """torch and transformers.

    Raises:
        MeasureError: one is not installed.
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise MeasureError(
            f"measuring needs torch and transformers ({error}). "
            "Install them: pip install torch transformers"
        ) from None
    return torch, transformers


def versions() -> dict[str, str]:
    """The versions of the two packages a measurement depends on."""
    torch, transformers = packages()
    return {"torch": torch.__version__, "transformers": transformers.__version__}


def _auto_config(config: Mapping[str, Any], source: str) -> Any:
    from transformers import AutoConfig

    name = SAME_CLASS.get(config["model_type"], config["model_type"])
    fields = {key: value for key, value in config.items() if key not in NOT_FOR_THE_CLASS}
    try:
        return AutoConfig.for_model(name, **fields)
    except Exception as error:  # whatever a config class makes of a stranger's file
        raise _refused(source, error) from error


def _build(auto_config: Any, source: str, device: str, dtype: str) -> Any:
    import torch
    from transformers import (
        AutoModelForCausalLM,
        AutoModelForImageTextToText,
        AutoModelForSpeechSeq2Seq,
    )

    auto_class = AutoModelForCausalLM
    if auto_config.is_encoder_decoder:
        auto_class = AutoModelForSpeechSeq2Seq
    elif auto_config.get_text_config(decoder=True) is not auto_config:
        auto_class = AutoModelForImageTextToText
    try:
        with torch.device(device):
            model = auto_class.from_config(auto_config, dtype=getattr(torch, dtype))
    except Exception as error:  # likewise, or an exhausted device
        raise _refused(source, error) from error
    return model.eval()


def _memory(device: str) -> int:
    import torch

    if device == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _refused(source: str, error: Exception) -> MeasureError:
    installed = versions()["transformers"]
    return MeasureError(
        f"{source}: transformers {installed} cannot build this model: {_first_line(error)}"
    )


def _cannot_run(source: str, device: str, error: RuntimeError) -> MeasureError:
    pair = " and ".join(f"{name} {version}" for name, version in versions().items())
    advice = "Upgrade transformers, or use --device cpu." if device == "meta" else ""
    return MeasureError(
        f"{source}: {pair} cannot run it on {device}: {_first_line(error)}. {advice}".strip()
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
