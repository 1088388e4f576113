"""llama.cpp's own C interface, as far as making a model and a context needs it.

In: GGUF metadata and the settings of a context. Out: what llama.cpp logs while it allocates.
The library is the one inside the package xllamacpp, built for the CPU; nothing is compiled here.

``llama_model_init_from_user`` makes a model from metadata alone and creates its tensors itself;
what they contain is left as it is, because no size depends on it.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ctypes import (
    CFUNCTYPE,
    Structure,
    c_bool,
    c_char_p,
    c_float,
    c_int32,
    c_size_t,
    c_uint32,
    c_void_p,
)
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kvdocs.evidence.needs import LLAMA_CPP

Value = int | float | bool | str | list[int] | list[bool]
PACKAGE = "xllamacpp"
GGUF_INT32, GGUF_BOOL = 5, 7  # ggml/include/gguf.h
DEBUG = 1  # enum ggml_log_level in ggml/include/ggml.h
TYPE_NUMBERS = {  # enum ggml_type in ggml/include/ggml.h
    "f32": 0,
    "f16": 1,
    "q4_0": 2,
    "q4_1": 3,
    "q5_0": 6,
    "q5_1": 7,
    "q8_0": 8,
    "iq4_nl": 20,
    "bf16": 30,
}


class LlamaCppMissing(ValueError):
    """The pinned build of llama.cpp is not installed; the message says how to get it."""


def _each(kind: Any, *names: str) -> list[tuple[str, Any]]:
    return [(name, kind) for name in names]


class ModelParams(Structure):
    """struct llama_model_params of llama.h."""

    _fields_ = (
        *_each(c_void_p, "devices", "tensor_buft_overrides"),
        *_each(c_int32, "n_gpu_layers", "split_mode", "load_mode", "lazy_mode", "main_gpu"),
        *_each(c_void_p, "tensor_split", "progress_callback", "progress_callback_user_data"),
        *_each(c_void_p, "kv_overrides"),
        *_each(c_bool, "vocab_only", "check_tensors", "use_extra_bufts"),
        *_each(c_bool, "no_host", "no_alloc", "load_mtp"),
    )


class ContextParams(Structure):
    """struct llama_context_params of llama.h."""

    _fields_ = (
        *_each(c_uint32, "n_ctx", "n_batch", "n_ubatch", "n_seq_max", "n_rs_seq"),
        *_each(c_uint32, "n_outputs_max", "n_outputs_max_per_seq"),
        *_each(c_int32, "n_threads", "n_threads_batch", "ctx_type", "rope_scaling_type"),
        *_each(c_int32, "pooling_type", "attention_type", "flash_attn_type"),
        *_each(c_float, "rope_freq_base", "rope_freq_scale"),
        *_each(c_float, "yarn_ext_factor", "yarn_attn_factor", "yarn_beta_fast", "yarn_beta_slow"),
        *_each(c_uint32, "yarn_orig_ctx"),
        *_each(c_float, "defrag_thold"),
        *_each(c_void_p, "cb_eval", "cb_eval_user_data"),
        *_each(c_int32, "type_k", "type_v"),
        *_each(c_size_t, "moe_cache_size"),
        *_each(c_void_p, "abort_callback", "abort_callback_data"),
        *_each(c_bool, "embeddings", "offload_kqv", "no_perf"),
        *_each(c_bool, "op_offload", "swa_full", "kv_unified"),
        *_each(c_void_p, "samplers"),
        *_each(c_size_t, "n_samplers"),
        *_each(c_void_p, "ctx_other"),
    )


# The library's defaults (src/llama-context.cpp): where they differ, the structure above is not
# that of the library, and nothing it says may be believed.
DEFAULTS = {
    "n_ctx": 512,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_seq_max": 1,
    "flash_attn_type": -1,
    "type_k": TYPE_NUMBERS["f16"],
    "type_v": TYPE_NUMBERS["f16"],
    "offload_kqv": True,
    "swa_full": True,
    "kv_unified": False,
    "n_samplers": 0,
}
LogCallback = CFUNCTYPE(None, c_int32, c_char_p, c_void_p)
TensorCallback = CFUNCTYPE(None, c_void_p, c_void_p)
SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "llama_log_set": (None, [LogCallback, c_void_p]),
    "llama_model_default_params": (ModelParams, []),
    "llama_context_default_params": (ContextParams, []),
    "llama_model_init_from_user": (c_void_p, [c_void_p, TensorCallback, c_void_p, ModelParams]),
    "llama_model_free": (None, [c_void_p]),
    "llama_init_from_model": (c_void_p, [c_void_p, ContextParams]),
    "llama_free": (None, [c_void_p]),
    "gguf_init_empty": (c_void_p, []),
    "gguf_free": (None, [c_void_p]),
    "gguf_set_val_u32": (None, [c_void_p, c_char_p, c_uint32]),
    "gguf_set_val_f32": (None, [c_void_p, c_char_p, c_float]),
    "gguf_set_val_bool": (None, [c_void_p, c_char_p, c_bool]),
    "gguf_set_val_str": (None, [c_void_p, c_char_p, c_char_p]),
    "gguf_set_arr_data": (None, [c_void_p, c_char_p, c_int32, c_void_p, c_size_t]),
}


def build() -> dict[str, str]:
    """Which build runs: its file and the file's SHA-256."""
    path = _path()
    return {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def log_of_context(model: int, settings: Mapping[str, int | bool]) -> tuple[bool, list[str]]:
    """Make a context of ``model`` and let it go: whether it was made, and what was logged."""
    library = _library()
    _log.clear()
    params = library.llama_context_default_params()
    for name, value in settings.items():
        setattr(params, name, value)
    context = library.llama_init_from_model(model, params)
    if context:
        library.llama_free(context)
    return bool(context), "".join(_log).splitlines()


@contextmanager
def model(architecture: str, metadata: Mapping[str, Value]) -> Iterator[tuple[int, list[str]]]:
    """A model of ``architecture``, and what was logged while it was made.

    ``metadata`` has GGUF keys without the architecture's name before them.

    Raises:
        LlamaCppMissing: the pinned build is not installed.
        RuntimeError: llama.cpp does not accept the metadata; its log says why.
    """
    library = _library()
    _log.clear()
    header = library.gguf_init_empty()
    _put(library, header, "general.architecture", architecture)
    _put(library, header, "tokenizer.ggml.model", "no_vocab")
    for key, value in metadata.items():
        _put(library, header, f"{architecture}.{key}", value)
    params = library.llama_model_default_params()
    made = library.llama_model_init_from_user(header, _leave_as_it_is, None, params)
    library.gguf_free(header)
    lines = "".join(_log).splitlines()
    if not made:
        raise RuntimeError(f"llama.cpp makes no {architecture} model: " + " ".join(lines[-3:]))
    try:
        yield made, lines
    finally:
        library.llama_model_free(made)


_leave_as_it_is = TensorCallback(lambda tensor, data: None)  # tensors keep what the memory held


def _put(library: ctypes.CDLL, header: int, key: str, value: Value) -> None:
    name = key.encode()
    if isinstance(value, list):
        kind: Any
        kind, number = (c_bool, GGUF_BOOL) if isinstance(value[0], bool) else (c_int32, GGUF_INT32)
        library.gguf_set_arr_data(header, name, number, (kind * len(value))(*value), len(value))
    elif isinstance(value, bool):
        library.gguf_set_val_bool(header, name, value)
    elif isinstance(value, int):
        library.gguf_set_val_u32(header, name, value)
    elif isinstance(value, float):
        library.gguf_set_val_f32(header, name, value)
    else:
        library.gguf_set_val_str(header, name, value.encode())


@cache
def _library() -> ctypes.CDLL:
    """The library, its log going to ``_log``."""
    if reason := LLAMA_CPP.missing():
        raise LlamaCppMissing(reason)
    library = ctypes.CDLL(str(_path()))
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    defaults = library.llama_context_default_params()
    strange = [name for name, value in DEFAULTS.items() if getattr(defaults, name) != value]
    if strange:
        raise LlamaCppMissing(f"{_path()} has other default settings: {', '.join(strange)}")
    library.llama_log_set(_keep, None)
    library.llama_backend_init()
    return library


def _keep_line(level: int, text: bytes, data: int) -> None:
    if level != DEBUG:
        _log.append(text.decode(errors="replace"))


_log: list[str] = []
_keep = LogCallback(_keep_line)


def _path() -> Path:
    spec = find_spec(PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    if not folders:
        raise LlamaCppMissing(LLAMA_CPP.missing())
    return next(Path(folders[0]).glob("*.so"))
