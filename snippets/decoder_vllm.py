"""What vLLM prints about its cache, phrase by phrase."""

from kvdocs.logs.known import phrases
from kvdocs.site.tables_field import decoder

print(decoder(phrases("vllm", "vllm_errors", "vllm_metrics")))
