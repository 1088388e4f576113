"""What llama.cpp prints about its cache, and what is built on it: Ollama, LM Studio.

Data only, read in the source that comes with llama-cpp-python 0.3.36 (llama.cpp 0c1e570); older
wordings in the public reports of ``reports.toml``.
"""

from __future__ import annotations

from functools import partial

from kvdocs.logs.number import Number
from kvdocs.logs.phrase import ALL, SEQUENCE, Phrase, Quantity

MIB = Quantity("MiB", ALL)
CELLS = Quantity("cells", ALL)
LAYERS = Quantity("layers", ALL)
SEQUENCES = Quantity("sequences", ALL)

_phrase = partial(Phrase, engine="llama.cpp")

PHRASES = (
    _phrase(
        key="llama_cpp.states",
        wording="0c1e570, src/llama-memory-recurrent.cpp:133",
        hint="llama_memory_recurrent",
        text="llama_memory_recurrent: size = {state} MiB ({states} cells",
        means="Recurrent states: one for each sequence, whatever its length. The layers counted "
        "are those of the model, not those with a state.",
        numbers={Number.STATE: MIB, Number.STATES: Quantity("states", ALL)},
        also=(r"llama_memory_recurrent: {0,8}size =\s{0,8}<state> MiB \(\s{0,8}<states> cells?",),
    ),
    _phrase(
        key="llama_cpp.cache",
        wording="0c1e570, src/llama-kv-cache.cpp:301; in logs of 2025 also llama_kv_cache_unified",
        hint=" cells",
        text="size = {memory} MiB ({cells} cells, {layers} layers, {sequences} seqs), K "
        "({k_type}): {k_size} MiB, V ({v_type}): {v_size} MiB",
        means="The whole cache, allocated at start for all cells, used or not. Cells are tokens, "
        "split over the sequences unless the cache is unified.",
        numbers={
            Number.MEMORY: MIB,
            Number.CELLS: CELLS,
            Number.LAYERS: LAYERS,
            Number.SEQUENCES: SEQUENCES,
            Number.K_SIZE: MIB,
            Number.V_SIZE: MIB,
        },
        change="Memory falls with a smaller --ctx-size, fewer --parallel slots, or -ctk q8_0 -ctv "
        "q8_0",
        also=(
            r"size =\s{0,8}<memory> MiB \(\s{0,8}<cells> cells,\s{0,8}<layers> layers"
            r"(?:,\s{0,4}<sequences>(?:/\s{0,2}\d{1,4})? seqs)?\)"
            r"(?:,? K ?\(<k_type>\):?\s{0,8}<k_size>(?: MiB)?, V ?\(<v_type>\):?\s{0,8}<v_size>)?",
        ),
    ),
    _phrase(
        key="llama_cpp.self_size",
        wording="older logs, llama_new_context_with_model or llama_init_from_model",
        hint="self size",
        text="KV self size = {memory} MiB, K ({k_type}): {k_size} MiB, V ({v_type}): {v_size} MiB",
        means="The whole cache, allocated at start for all cells.",
        numbers={Number.MEMORY: MIB, Number.K_SIZE: MIB, Number.V_SIZE: MIB},
        also=(r"kv self size\s{0,4}=\s{0,8}<memory> MB",),
    ),
    _phrase(
        key="llama_cpp.kv_size",
        wording="older logs, llama_kv_cache_init",
        hint="kv_size = ",
        text="kv_size = {cells}",
        means="Cells of the cache.",
        numbers={Number.CELLS: CELLS},
    ),
    _phrase(
        key="llama_cpp.context",
        wording="0c1e570, src/llama-context.cpp:309",
        hint="n_ctx ",
        text="n_ctx = {cells}",
        means="Cells of the cache, over all sequences.",
        numbers={Number.CELLS: CELLS},
    ),
    _phrase(
        key="llama_cpp.sequences",
        wording="0c1e570, src/llama-context.cpp:308",
        hint="n_seq_max ",
        text="n_seq_max = {sequences}",
        means="Sequences that share the cells.",
        numbers={Number.SEQUENCES: SEQUENCES},
    ),
    _phrase(
        key="llama_cpp.context_each",
        wording="older logs n_ctx_per_seq; 0c1e570 n_ctx_seq",
        hint="n_ctx_",
        text="n_ctx_per_seq = {length}",
        means="Cells each sequence gets.",
        numbers={Number.LENGTH: Quantity("cells", SEQUENCE)},
        also=(r"n_ctx_(?:per_)?seq\s{0,4}=\s{0,8}<length>",),
    ),
    _phrase(
        key="llama_cpp.quantised_v",
        wording="0c1e570, src/llama-context.cpp:3846",
        hint="flash_attn",
        text="quantized V cache requires flash_attn to be enabled",
        means="Values in a quantised format need flash attention.",
        change="Leave --flash-attn at auto, or set -ctv f16",
        also=(r"V cache quantization requires flash_attn",),
    ),
    _phrase(
        key="llama_cpp.of_device",
        wording="0c1e570, src/llama-kv-cache.cpp:291",
        hint="KV buffer size",
        text="KV buffer size = {of_device} MiB",
        means="The part of the cache on one device; the parts add up to the whole.",
        numbers={Number.OF_DEVICE: MIB},
    ),
    _phrase(
        key="llama_cpp.no_slot",
        wording="0c1e570, src/llama-context.cpp:1841",
        hint="failed to find a memory slot",
        text="failed to find a memory slot for batch of size {batch}",
        means="No cells are free for the next tokens: the sequences fill the cache.",
        numbers={Number.BATCH: Quantity("tokens", ALL)},
        change="Raise --ctx-size, or serve fewer --parallel slots",
        highest=True,
    ),
    _phrase(
        key="llama_cpp.too_long",
        wording="0c1e570, tools/server/server-context.cpp:3188",
        hint="exceeds the available context size",
        text="request ({prompt} tokens) exceeds the available context size ({longest} tokens)",
        means="One request was refused: it is longer than the cells of its slot, which are "
        "--ctx-size divided by --parallel.",
        numbers={
            Number.PROMPT: Quantity("tokens", SEQUENCE),
            Number.LONGEST: Quantity("tokens", SEQUENCE),
        },
        change="Raise --ctx-size, or lower --parallel",
        also=(r"request exceeds the available context size",),
    ),
    _phrase(
        key="llama_cpp.out_of_memory",
        wording="0c1e570, ggml/src/ggml-cuda/ggml-cuda.cu:888",
        hint="cudaMalloc failed",
        text="allocating {wanted} MiB on device 0: cudaMalloc failed: out of memory",
        means="One buffer did not fit: of weights, cache or computation, as the lines before say.",
        numbers={Number.WANTED: MIB},
        change="Lower --ctx-size or --n-gpu-layers, or quantise the cache with -ctk q8_0 -ctv q8_0",
        also=(r"allocating <wanted> MiB on device \d{1,3}: cudaMalloc failed: out of memory",),
    ),
    _phrase(
        key="llama_cpp.no_cache",
        wording="0c1e570, src/llama-kv-cache.cpp:288",
        hint="failed to allocate buffer for kv cache",
        text="failed to allocate buffer for kv cache",
        means="There is no memory for the cells that --ctx-size asks for.",
        change="Lower --ctx-size or --parallel, or quantise the cache with -ctk q8_0 -ctv q8_0",
    ),
    _phrase(
        key="ggml.memory",
        wording="the ggml examples of 2023, ggml#231",
        hint="n_mem",
        text="memory_size = {memory} MB, n_mem = {cell_layers}",
        means="The whole cache; n_mem is layers times cells. The examples write MB and mean MiB.",
        numbers={Number.MEMORY: MIB, Number.CELL_LAYERS: Quantity("cells of one layer", ALL)},
        also=(r"memory_size =\s{0,8}<memory> MB, n_mem =\s{0,8}<cell_layers>",),
    ),
)
