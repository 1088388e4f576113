"""The settings that a line of a log states: which model, how many ranks, which cache dtype.

In: a line. Out: what it states, by the names of ``PATTERNS``.
"""

from __future__ import annotations

import re

_QUOTE = r"[\"']?"
_IS = rf"{_QUOTE}\s{{0,2}}[=: ]\s{{0,2}}{_QUOTE}"
_NUMBER = r"(\d{1,9})\b"
# The name of a setting, a piece of text that every line with it contains, and its pattern, which is
# compiled when a line has that piece.
PATTERNS = (
    ("tp", "tensor", rf"tensor[_-]parallel(?:[_-]size)?{_IS}{_NUMBER}"),
    ("tp", "tp", rf"\btp[_-]size{_IS}{_NUMBER}"),
    ("tp", "-tp", rf"\s--?tp[= ]{_NUMBER}"),
    ("pp", "pipeline", rf"pipeline[_-]parallel[_-]size{_IS}{_NUMBER}"),
    ("dcp", "decode", rf"decode[_-]context[_-]parallel[_-]size{_IS}{_NUMBER}"),
    # Before the size of the cache, in releases that print no such setting.
    ("dcp", "cp_world_size", rf"cache size by the d?cp_world_size {_NUMBER}"),
    ("kv_dtype", "cache", rf"kv[_-]cache[_-]dtype{_IS}(?:torch\.)?([a-z]\w{{1,24}})"),
    ("kv_dtype", "kv_cache_quant_algo", rf"kv_cache_quant_algo{_IS}(FP8|NVFP4)\b"),
    ("kv_dtype", "KV Cache is", r"KV Cache is allocated\. dtype: torch\.(\w{1,24})"),
    ("dtype", "dtype=torch", r"[ ,]dtype=torch\.(\w{1,16})"),
    ("length", "max", rf"max[_-](?:model|seq)[_-]len{_IS}{_NUMBER}"),
    ("in_flight", "batched", rf"max[_-]num[_-]batched[_-]tokens{_IS}{_NUMBER}"),
    ("block_size", "block", rf"\bblock[_-]size{_IS}{_NUMBER}"),
    ("version", "LLM engine (v", r"LLM engine \(v([\d.]{3,12})"),
    ("version", "API server", r"API server version ([\d.]{3,12})"),
    ("version", "TensorRT-LLM", r"TensorRT-LLM version: ([\d.]{3,12})"),
    ("model", "model", rf"\bmodel(?:[_-]path|[_-]tag)?{_IS}([^\s\"',)]{{2,200}})"),
    ("model", "vllm serve", r"vllm serve ([^\s\"']{2,200})"),
    ("model", "general.name", r"general\.name\s{1,12}= (.{2,60})"),
)

HINTS = (
    b"LLM engine",
    b"vllm serve",
    b" -tp ",
    b" --tp ",
    *b"tensor_parallel tensor-parallel tp_size --tp-size kv_cache_dtype kv-cache-dtype".split(),
    *b"kv_cache_quant_algo block_size block-size max_model_len max-model-len cp_world_size".split(),
    *b"max_num_batched_tokens max-num-batched-tokens max_seq_len decode_context_parallel".split(),
    *b"decode-context-parallel model_path --model general.name".split(),
)
_WORDS = tuple(hint.decode() for hint in HINTS)


def settings_in(line: str) -> dict[str, str]:
    """The settings that a line states; of two mentions the first counts.

    >>> settings_in("vllm serve Qwen/Qwen3-14B --tensor-parallel-size 2")
    {'tp': '2', 'model': 'Qwen/Qwen3-14B'}
    """
    found: dict[str, str] = {}
    if any(word in line for word in _WORDS):
        for name, piece, pattern in PATTERNS:
            if name not in found and piece in line and (match := re.search(pattern, line)):
                found[name] = match[1]
    return found
