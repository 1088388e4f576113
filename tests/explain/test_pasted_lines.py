"""Lines as people paste them, from public threads and the engines' own sources: each is recognised,
alone and within other lines, and nothing else is seen in it.

The sources stand at the phrases, in ``kvdocs/logs/``.
"""

import io

import pytest

from kvdocs.logs.reading import scan

NOISE = 'INFO: 10.0.0.1:5000 - "GET /health HTTP/1.1" 200 OK\n' * 20
PASTED = [
    (
        "vllm.blocks",
        "INFO 12-01 10:00:00 gpu_executor.py:76] # GPU blocks: 27896, # CPU blocks: 2048",
    ),
    (
        "vllm.too_long_v0",
        "ValueError: The model's max seq len (32768) is larger than the maximum number of "
        "tokens that can be stored in KV cache (17136). Try increasing "
        "`gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
    ),
    (
        "vllm.too_long vllm.longest",
        "ValueError: To serve at least one request with the models's max seq len (131072), "
        "(16.00 GiB KV cache is needed, which is larger than the available KV cache memory "
        "(7.28 GiB). Based on the available memory, the estimated maximum model length is "
        "59632. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when "
        "initializing the engine.",
    ),
    (
        "vllm.too_long",
        "ValueError: To serve at least one request with the models's max seq len (32768), "
        "(1.75 GB KV cache is needed, which is larger than the available KV cache memory "
        "(0.48 GB). Based on",
    ),
    (
        "vllm.concurrency",
        "INFO 03-27 [executor_base.py:116] Maximum concurrency for 8192 tokens per request: 10.49x",
    ),
    (
        "pytorch.out_of_memory.MiB pytorch.free.MiB",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 128.00 MiB. GPU 0 has "
        "a total capacity of 11.63 GiB of which 21.56 MiB is free. Including non-PyTorch "
        "memory, this process has 11.07 GiB memory in use.",
    ),
    (
        "pytorch.out_of_memory.GiB pytorch.free.MiB",
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.63 GiB (GPU 0; "
        "44.56 GiB total capacity; 27.91 GiB already allocated; 565.31 MiB free; 27.93 GiB "
        "reserved in total by PyTorch) If reserved",
    ),
    (
        "pytorch.out_of_memory.MiB pytorch.free.KiB",
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 6 has a "
        "total capacity of 44.53 GiB of which 448.00 KiB is free.",
    ),
    (
        "pytorch.out_of_memory.MiB pytorch.free.bytes",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a "
        "total capacty of 23.69 GiB of which 0 bytes is free.",
    ),
    (
        "vllm.preempted_v0",
        "WARNING 08-20 10:18:39 scheduler.py:1141] Sequence group 147 is preempted by "
        "PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This can "
        "affect the end-to-end performance. Increase gpu_memory_utilization or "
        "tensor_parallel_size to provide more KV cache memory. "
        "total_num_cumulative_preemption=1",
    ),
    (
        "vllm.preempted_v0",
        "WARNING 05-09 00:49:33 scheduler.py:1057 Sequence group 0 is preempted by "
        "PreemptionMode.SWAP mode because there is not enough KV cache space. "
        "total_cumulative_preemption_cnt=51",
    ),
    (
        "vllm.usage vllm.running_log vllm.waiting_log",
        "INFO 10-28 11:16:34 metrics.py:349] Avg prompt throughput: 0.0 tokens/s, Avg "
        "generation throughput: 7220.5 tokens/s, Running: 2 reqs, Swapped: 0 reqs, Pending: "
        "98 reqs, GPU KV cache usage: 73.8%, CPU KV cache usage: 0.0%.",
    ),
    (
        "vllm.usage vllm.running_log vllm.waiting_log",
        "INFO 07-28 06:40:59 [loggers.py:118] Engine 000: Avg prompt throughput: 0.0 "
        "tokens/s, Avg generation throughput: 239.2 tokens/s, Running: 8 reqs, Waiting: 0 "
        "reqs, GPU KV cache usage: 91.2%, Prefix cache hit rate: 0.0%",
    ),
    (
        "vllm.usage_metric",
        'vllm:gpu_cache_usage_perc{model_name="x"} 0.43',
    ),
    (
        "vllm.preemptions",
        'vllm:num_preemptions_total{model_name="x"} 12.0',
    ),
    (
        "vllm.prefix_hits",
        'vllm:gpu_prefix_cache_hits_total{engine="0"} 1234.0',
    ),
    (
        "vllm.waiting",
        'vllm:num_requests_waiting{model_name="x"} 3.0',
    ),
    (
        "vllm.not_free",
        "ValueError: Free memory on device cuda:0 (12.5/23.64 GiB) on startup is less than "
        "desired GPU memory utilization (0.9, 21.28 GiB). Decrease GPU memory utilization or "
        "reduce GPU memory used by other processes.",
    ),
    (
        "vllm.beyond_training",
        "ValueError: User-specified max_model_len (131072) is greater than the derived "
        "max_model_len (max_position_embeddings=32768 or model_max_length=None in model's "
        "config.json).",
    ),
    (
        "vllm.context",
        "This model's maximum context length is 4096 tokens. However, you requested 5000 "
        "tokens (4000 in the messages, 1000 in the completion). Please reduce",
    ),
    (
        "vllm.context",
        "This model's maximum context length is 32768 tokens. However, your prompt contains "
        "at least 32769 input tokens, which exceeds this limit",
    ),
    (
        "vllm.warm_up",
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy "
        "requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization`",
    ),
    (
        "vllm.spent",
        "Free memory on device (23.2/23.64 GiB) on startup. Desired GPU memory utilization is "
        "(0.9, 21.28 GiB). Actual usage is 14.25 GiB for weight, 1.41 GiB for peak "
        "activation, 0.06 GiB for non-torch memory, and 0.52 GiB for CUDAGraph memory. "
        "Replace",
    ),
    (
        "sglang.usage_log",
        "[2025-09-03 18:33:19 TP0] Decode batch. #running-req: 1, #token: 137, token usage: "
        "0.00, cuda graph: True, gen throughput (token/s): 1.06, #queue-req: 0, ",
    ),
    (
        "sglang.usage_log",
        "[16:43:31 TP0] Prefill batch. #new-seq: 5, #new-token: 8192, #cached-token: 523, "
        "cache hit rate: 10.59%, token usage: 0.48, #running-req: 13, #queue-req: 26",
    ),
    (
        "sglang.usage_log",
        "[03:51:54] Decode batch, #running-req: 6, #full token: 2435072, full token usage: "
        "0.92, swa token usage: 0.09, gen throughput (token/s): 24.33",
    ),
    (
        "sglang.retracted",
        "[2025-12-12 08:43:59 TP0] KV cache pool is full. Retract requests. #retracted_reqs: "
        "1, #new_tokens_gained: 1024, #new_token_ratio: 0.5723 -> 0.8723",
    ),
    (
        "sglang.retracted",
        "[gpu=0] Decode out of memory happened. #retracted_reqs: 3, #new_token_ratio: 0.3 -> 0.7",
    ),
    (
        "sglang.tokens sglang.limits",
        "[2025-07-01 TP0] max_total_num_tokens=367404, chunked_prefill_size=8192, "
        "max_prefill_tokens=16384, max_running_requests=4096, context_len=40960, "
        "available_gpu_mem=11.98 GB",
    ),
    (
        "sglang.weights",
        "[2025-07-01 TP0] Load weight end. type=Qwen3MoeForCausalLM, dtype=torch.bfloat16, "
        "avail mem=31.98 GB, mem usage=45.6 GB.",
    ),
    (
        "sglang.pool_end",
        "[2025-07-01 TP0] Memory pool end. avail mem=12.06 GB",
    ),
    (
        "sglang.too_long",
        "Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens). Use a "
        "shorter input or enable --allow-auto-truncate.",
    ),
    (
        "sglang.context",
        "Requested token count exceeds the model's maximum context length of 32768 tokens. "
        "You requested a total of 40000 tokens: 32000 tokens",
    ),
    (
        "sglang.metric.num_used_tokens",
        'sglang:num_used_tokens{model_name="x"} 123859.0',
    ),
    (
        "sglang.allocated",
        "[2025-07-01] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 367404, K size: "
        "8.23 GB, V size: 8.23 GB",
    ),
    (
        "sglang.nothing_left",
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    ),
    (
        "trtllm.free",
        "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: "
        "total: 79.10 GiB, available: 70.48 GiB",
    ),
    (
        "trtllm.blocks",
        "[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 4060",
    ),
    (
        "trtllm.blocks",
        "[TensorRT-LLM][INFO] Max KV cache blocks per sequence: 65 [window size=2051], tokens "
        "per block=32, primary blocks=116617, secondary blocks=0",
    ),
    (
        "trtllm.block",
        "[TensorRT-LLM][INFO] Number of tokens per block: 64.",
    ),
    (
        "trtllm.allocated",
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 63.44 GiB for max tokens in paged KV "
        "cache (259840).",
    ),
    (
        "trtllm.bytes",
        "[TensorRT-LLM][INFO] Allocate 956301312 bytes for k/v cache. ",
    ),
    (
        "trtllm.tokens",
        "[TensorRT-LLM][INFO] Using 29184 total tokens in paged KV cache, and 272 blocks per "
        "sequence",
    ),
    (
        "trtllm.one_sequence",
        "ERROR: Failed to create instance: unexpected error when creating modelInstanceState: "
        "maxTokensInPagedKvCache (29184) must be large enough to process at least 1 sequence "
        "to completion (i.e. must be larger than beam_width (1) * tokensPerBlock (128) * "
        "maxBlocksPerSeq (272))",
    ),
    (
        "trtllm.one_sequence",
        "[TensorRT-LLM][ERROR] maxTokensInPagedKvCache must be large enough to process at "
        "least 1 sequence to completion (i.e.",
    ),
    (
        "trtllm.profile",
        "[01/16/2026-06:20:17] [TRT-LLM] [I] Peak memory during memory usage profiling (torch "
        "+ non-torch): 91.46 GiB, available KV cache memory when calculating max tokens: "
        "41.11 GiB, fraction is set 0.85, kv size is 35136. device total memory 139.81 GiB",
    ),
    (
        "trtllm.out_of_memory",
        "[TensorRT-LLM][ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, "
        "mCudaStream->get()): out of memory "
        "(/code/tensorrt_llm/cpp/tensorrt_llm/runtime/tllmBuffers.h:112)",
    ),
    (
        "trtllm.reduced",
        "[TensorRT-LLM][WARNING] maxAttentionWindow and maxSequenceLen are too large for at "
        "least one sequence to fit in kvCache. they are reduced to 5185",
    ),
    (
        "llama_cpp.of_device",
        "llama_kv_cache_init:      CUDA0 KV buffer size =   379.23 MiB",
    ),
    (
        "llama_cpp.no_slot",
        "decode: failed to find a memory slot for batch of size 36",
    ),
    (
        "llama_cpp.too_long",
        "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
    ),
    (
        "llama_cpp.out_of_memory",
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 279356.51 MiB on device 0: "
        "cudaMalloc failed: out of memory",
    ),
    (
        "llama_cpp.no_cache",
        "llama_kv_cache_init: failed to allocate buffer for kv cache",
    ),
]


@pytest.mark.parametrize(("keys", "line"), PASTED)
def test_a_pasted_line_is_recognised_alone_and_within_noise(keys, line):
    for text in (line, f"{NOISE}(EngineCore pid=9) {line} [repeated 30x]\n{NOISE}"):
        log = scan(io.BytesIO(text.encode()))
        assert {reading.phrase.key for reading in log.readings} == set(keys.split())
