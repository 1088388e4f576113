"""The flags of the cheat sheet, with the defaults that claims.toml cites."""

from kvdocs.facts.claims import load_claims

claims = load_claims()
share = claims["vllm.gpu_memory_utilization.default"]

print("```text")
print(f"# {share.version}")
print("--max-model-len 4096           # the longest sequence accepted; reserves no cache")
print("--kv-cache-dtype fp8           # half the cache; refused on a T4; measure the quality")
print("--enable-prefix-caching        # share identical beginnings; on by default")
print(
    f"--gpu-memory-utilization {share.value}  # what the cache is carved from; this is the default"
)
print("```")
