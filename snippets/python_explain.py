"""What the numbers of a log mean, and whether they add up."""

import kvdocs

log = """
Available KV cache memory: 6.51 GiB
GPU KV cache size: 42,656 tokens
"""
found = kvdocs.explain(log, model="Qwen/Qwen3-14B")
print(found.status)
for check in found.checks:
    print(f"{check.title}: printed {float(check.printed):,.0f}, agrees: {check.agrees}")
