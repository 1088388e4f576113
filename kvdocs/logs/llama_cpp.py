"""What llama.cpp prints about its cache, and what is built on it: Ollama, LM Studio.

Data only, read in the source that comes with llama-cpp-python 0.3.36 (llama.cpp 0c1e570); older
wordings in the public reports of ``reports.toml``.
"""

from __future__ import annotations

from kvdocs.logs.phrase import ALL, SEQUENCE, Phrase, Quantity

MIB = Quantity("MiB", ALL)
CELLS = Quantity("cells", ALL)
LAYERS = Quantity("layers", ALL)
SEQUENCES = Quantity("sequences", ALL)

PHRASES = (
    Phrase(
        "llama_cpp.states",
        "llama.cpp",
        "0c1e570, src/llama-memory-recurrent.cpp:133",
        "llama_memory_recurrent",
        "llama_memory_recurrent: size = {state} MiB ({states} cells",
        "Recurrent states: one for each sequence, whatever its length. The layers counted are "
        "those of the model, not those with a state.",
        {"state": MIB, "states": Quantity("states", ALL)},
        also=(r"llama_memory_recurrent: {0,8}size =\s{0,8}<state> MiB \(\s{0,8}<states> cells?",),
    ),
    Phrase(
        "llama_cpp.cache",
        "llama.cpp",
        "0c1e570, src/llama-kv-cache.cpp:301; in logs of 2025 also llama_kv_cache_unified",
        " cells",
        "size = {memory} MiB ({cells} cells, {layers} layers, {sequences} seqs), K ({k_type}): "
        "{k_size} MiB, V ({v_type}): {v_size} MiB",
        "The whole cache, allocated at start for all cells, used or not. Cells are tokens, split "
        "over the sequences unless the cache is unified.",
        {
            "memory": MIB,
            "cells": CELLS,
            "layers": LAYERS,
            "sequences": SEQUENCES,
            "k_size": MIB,
            "v_size": MIB,
        },
        "Memory falls with a smaller --ctx-size, fewer --parallel slots, or -ctk q8_0 -ctv q8_0",
        also=(
            r"size =\s{0,8}<memory> MiB \(\s{0,8}<cells> cells,\s{0,8}<layers> layers"
            r"(?:,\s{0,4}<sequences>(?:/\s{0,2}\d{1,4})? seqs)?\)"
            r"(?:,? K ?\(<k_type>\):?\s{0,8}<k_size>(?: MiB)?, V ?\(<v_type>\):?\s{0,8}<v_size>)?",
        ),
    ),
    Phrase(
        "llama_cpp.self_size",
        "llama.cpp",
        "older logs, llama_new_context_with_model or llama_init_from_model",
        "self size",
        "KV self size = {memory} MiB, K ({k_type}): {k_size} MiB, V ({v_type}): {v_size} MiB",
        "The whole cache, allocated at start for all cells.",
        {"memory": MIB, "k_size": MIB, "v_size": MIB},
        also=(r"kv self size\s{0,4}=\s{0,8}<memory> MB",),
    ),
    Phrase(
        "llama_cpp.kv_size",
        "llama.cpp",
        "older logs, llama_kv_cache_init",
        "kv_size = ",
        "kv_size = {cells}",
        "Cells of the cache.",
        {"cells": CELLS},
    ),
    Phrase(
        "llama_cpp.context",
        "llama.cpp",
        "0c1e570, src/llama-context.cpp:309",
        "n_ctx ",
        "n_ctx = {cells}",
        "Cells of the cache, over all sequences.",
        {"cells": CELLS},
    ),
    Phrase(
        "llama_cpp.sequences",
        "llama.cpp",
        "0c1e570, src/llama-context.cpp:308",
        "n_seq_max ",
        "n_seq_max = {sequences}",
        "Sequences that share the cells.",
        {"sequences": SEQUENCES},
    ),
    Phrase(
        "llama_cpp.context_each",
        "llama.cpp",
        "older logs n_ctx_per_seq; 0c1e570 n_ctx_seq",
        "n_ctx_",
        "n_ctx_per_seq = {length}",
        "Cells each sequence gets.",
        {"length": Quantity("cells", SEQUENCE)},
        also=(r"n_ctx_(?:per_)?seq\s{0,4}=\s{0,8}<length>",),
    ),
    Phrase(
        "llama_cpp.quantised_v",
        "llama.cpp",
        "0c1e570, src/llama-context.cpp:3846",
        "flash_attn",
        "quantized V cache requires flash_attn to be enabled",
        "Values in a quantised format need flash attention.",
        change="Leave --flash-attn at auto, or set -ctv f16",
        also=(r"V cache quantization requires flash_attn",),
    ),
    Phrase(
        "llama_cpp.of_device",
        "llama.cpp",
        "0c1e570, src/llama-kv-cache.cpp:291",
        "KV buffer size",
        "KV buffer size = {of_device} MiB",
        "The part of the cache on one device; the parts add up to the whole.",
        {"of_device": MIB},
    ),
    Phrase(
        "llama_cpp.no_slot",
        "llama.cpp",
        "0c1e570, src/llama-context.cpp:1841",
        "failed to find a memory slot",
        "failed to find a memory slot for batch of size {batch}",
        "No cells are free for the next tokens: the sequences fill the cache.",
        {"batch": Quantity("tokens", ALL)},
        "Raise --ctx-size, or serve fewer --parallel slots",
        highest=True,
    ),
    Phrase(
        "llama_cpp.too_long",
        "llama.cpp",
        "0c1e570, tools/server/server-context.cpp:3188",
        "exceeds the available context size",
        "request ({prompt} tokens) exceeds the available context size ({longest} tokens)",
        "One request was refused: it is longer than the cells of its slot, which are --ctx-size "
        "divided by --parallel.",
        {"prompt": Quantity("tokens", SEQUENCE), "longest": Quantity("tokens", SEQUENCE)},
        "Raise --ctx-size, or lower --parallel",
        also=(r"request exceeds the available context size",),
    ),
    Phrase(
        "llama_cpp.out_of_memory",
        "llama.cpp",
        "0c1e570, ggml/src/ggml-cuda/ggml-cuda.cu:888",
        "cudaMalloc failed",
        "allocating {wanted} MiB on device 0: cudaMalloc failed: out of memory",
        "One buffer did not fit: of weights, cache or computation, as the lines before say.",
        {"wanted": MIB},
        "Lower --ctx-size or --n-gpu-layers, or quantise the cache with -ctk q8_0 -ctv q8_0",
        also=(r"allocating <wanted> MiB on device \d{1,3}: cudaMalloc failed: out of memory",),
    ),
    Phrase(
        "llama_cpp.no_cache",
        "llama.cpp",
        "0c1e570, src/llama-kv-cache.cpp:288",
        "failed to allocate buffer for kv cache",
        "failed to allocate buffer for kv cache",
        "There is no memory for the cells that --ctx-size asks for.",
        change="Lower --ctx-size or --parallel, or quantise the cache with -ctk q8_0 -ctv q8_0",
    ),
    Phrase(
        "ggml.memory",
        "llama.cpp",
        "the ggml examples of 2023, ggml#231",
        "n_mem",
        "memory_size = {memory} MB, n_mem = {cell_layers}",
        "The whole cache; n_mem is layers times cells. The examples write MB and mean MiB.",
        {"memory": MIB, "cell_layers": Quantity("cells of one layer", ALL)},
        also=(r"memory_size =\s{0,8}<memory> MB, n_mem =\s{0,8}<cell_layers>",),
    ),
)
