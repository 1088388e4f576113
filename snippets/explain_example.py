"""What `kvdocs explain` answers to three lines of a vLLM log on two GPUs."""

from kvdocs.explain.answer import explain

LOG = """\
vllm serve Qwen/Qwen3-14B --tensor-parallel-size 2
INFO 10-03 16:22:17 [gpu_worker.py:773] Available KV cache memory: 6.51 GiB
INFO 10-03 16:22:17 [kv_cache_utils.py:1147] GPU KV cache size: 85,312 tokens, Maximum \
concurrency for 32,768 tokens per request: 2.60x
"""

print(f"```text\n{explain(LOG)}\n```")
