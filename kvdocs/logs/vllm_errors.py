"""What vLLM says when it does not start, or refuses a request, in old wordings and new ones.

Data only. Files are those of the vLLM 0.33.0 wheel. V0 is the first engine, whose wordings were
read in public threads.
"""

from __future__ import annotations

from functools import partial

from kvdocs.logs.number import Number
from kvdocs.logs.phrase import ALL, Phrase, Quantity
from kvdocs.logs.vllm import BLOCKS, LENGTH, ROUNDED, SHARE, TOKENS

MORE_ROOM = (
    "More room: a higher --gpu-memory-utilization, an fp8 cache (--kv-cache-dtype fp8), smaller "
    "weights, more GPUs, or a lower --max-model-len if no request is that long"
)

_phrase = partial(Phrase, engine="vLLM")

ERRORS = (
    _phrase(
        key="vllm.too_long",
        wording="V1, v1/core/kv_cache_planning.py:78; early releases wrote GB and meant GiB",
        hint="KV cache is needed, which is larger",
        text="max seq len ({length}), ({needed} GiB KV cache is needed, which is larger than the "
        "available KV cache memory ({available} GiB)",
        means="The server did not start: one request of the full --max-model-len needs more than "
        "one GPU has left for the cache. Both figures are per GPU.",
        numbers={Number.LENGTH: LENGTH, Number.NEEDED: ROUNDED, Number.AVAILABLE: ROUNDED},
        change=MORE_ROOM,
        also=(
            r"max seq len \(<length>\),\s{1,4}\(?<needed> Gi?B KV\s{1,4}cache is\s{1,4}needed, "
            r"which is larger than the available KV cache\s{1,4}memory \(<available> Gi?B\)",
        ),
    ),
    _phrase(
        key="vllm.longest",
        wording="V1, v1/core/kv_cache_planning.py:73",
        hint="estimated maximum model length",
        text="the estimated maximum model length is {longest}",
        means="The longest request for which that memory would do: the --max-model-len to start "
        "with.",
        numbers={Number.LONGEST: LENGTH},
    ),
    _phrase(
        key="vllm.nothing_left",
        wording="V0 and V1, v1/core/kv_cache_planning.py:58",
        hint="No available memory for the cache blocks",
        text="No available memory for the cache blocks",
        means="The server did not start: weights and working memory fill the share of the GPU that "
        "--gpu-memory-utilization allows.",
        change="Raise --gpu-memory-utilization, or take smaller weights or more GPUs; a shorter "
        "--max-model-len frees nothing but a little working memory",
    ),
    _phrase(
        key="vllm.too_long_v0",
        wording="V0, vllm#2418",
        hint="tokens that can be stored in KV cache",
        text="max seq len ({length}) is larger than the maximum number of tokens that can be "
        "stored in KV cache ({tokens})",
        means="The server did not start: the whole cache holds fewer tokens than one request may "
        "have.",
        numbers={Number.LENGTH: LENGTH, Number.TOKENS: TOKENS},
        change=MORE_ROOM,
    ),
    _phrase(
        key="vllm.state_blocks",
        wording="V1, seen in 0.24.0",
        hint="exceeds available Mamba cache blocks",
        text="max_num_seqs ({sequences}) exceeds available Mamba cache blocks ({blocks})",
        means="Each running request needs a block for its recurrent state, whatever its length.",
        numbers={Number.SEQUENCES: Quantity("requests", ALL), Number.BLOCKS: BLOCKS},
        change="Lower --max-num-seqs to the number of blocks, or make the cache larger",
    ),
    _phrase(
        key="vllm.prompt_too_long",
        wording="V1, v1/engine/input_processor.py:590",
        hint="is longer than the maximum model length",
        text="prompt (length {prompt}) is longer than the maximum model length of {length}",
        means="One request was refused because of --max-model-len. The memory plays no part.",
        numbers={Number.PROMPT: LENGTH, Number.LENGTH: LENGTH},
        change="Raise --max-model-len, or shorten the prompt",
    ),
    _phrase(
        key="vllm.context",
        wording="V0 and V1, renderers/params.py:544",
        hint="maximum context length is",
        text="maximum context length is {length} tokens. However, your prompt contains {prompt} "
        "input tokens",
        means="One request was refused because of --max-model-len. The memory plays no part.",
        numbers={Number.LENGTH: LENGTH, Number.PROMPT: LENGTH},
        change="Raise --max-model-len, or shorten the prompt or the answer asked for",
        also=(
            r"maximum context length is <length> tokens\. However, (?:you requested|your "
            r"(?:prompt|request|messages) (?:contains?|has|resulted in)) (?:at least )?<prompt>",
        ),
    ),
    _phrase(
        key="vllm.beyond_training",
        wording="V0 and V1, config/model.py:2664",
        hint="than the derived max_model_len",
        text="User-specified max_model_len ({asked}) is greater than the derived max_model_len "
        "(max_position_embeddings={derived}",
        means="The server did not start: --max-model-len is more than the config of the model "
        "allows. The memory plays no part.",
        numbers={Number.ASKED: LENGTH, Number.DERIVED: LENGTH},
        change="Lower --max-model-len",
        also=(
            r"max_model_len \(<asked>\) is greater than the derived max_model_len "
            r"\(\w{3,40}=<derived>",
        ),
    ),
    _phrase(
        key="vllm.not_free",
        wording="V1, v1/worker/utils.py:763",
        hint="is less than desired GPU memory utilization",
        text="({free}/{card} GiB) on startup is less than desired GPU memory utilization "
        "({wanted_share}, {wanted} GiB)",
        means="The server did not start: the share of the card that it may use is more than what "
        "is free, because something else is on this GPU.",
        numbers={
            Number.FREE: ROUNDED,
            Number.CARD: ROUNDED,
            Number.WANTED_SHARE: SHARE,
            Number.WANTED: ROUNDED,
        },
        change="Stop the other process, or lower --gpu-memory-utilization to what is free",
    ),
    _phrase(
        key="vllm.warm_up",
        wording="V0 and V1, v1/worker/gpu_model_runner.py:5930",
        hint="out of memory occurred when warming up",
        text="CUDA out of memory occurred when warming up sampler with {sequences} dummy requests",
        means="The cache was allocated, and nothing is left for one step of so many requests.",
        numbers={Number.SEQUENCES: Quantity("requests", ALL)},
        change="Lower --max-num-seqs, or --gpu-memory-utilization, which leaves more beside the "
        "cache",
        also=(r"occurred when warming up \w{3,20} with <sequences> dummy requests",),
    ),
    _phrase(
        key="vllm.fp8_refused",
        wording="V1, v1/attention/backends/triton_attn.py:522, mla/triton_mla.py:209",
        hint="requires SM89+",
        text="native FP8 (fp8e4nv) requires SM89+",
        means="The server did not start: this GPU is of a compute capability below 8.9, as an "
        "A100, an RTX 30 card and older ones are, and there vLLM has no kernel that reads an fp8 "
        "cache in this model's layers.",
        change="Leave --kv-cache-dtype at auto for this model on this card",
    ),
)
