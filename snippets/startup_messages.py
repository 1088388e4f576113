"""Two messages of vLLM that mean: the cache has no room for one request of full length."""

from kvdocs.facts.claims import load_claims

claims = load_claims()

for key in ("vllm.startup_error.text", "vllm.startup_error.old_text"):
    claim = claims[key]
    print(f'``` {{.text .kv-wrap title="{claim.version}"}}\n{claim.value}\n```\n')
