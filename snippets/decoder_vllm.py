"""What vLLM prints about its cache, phrase by phrase."""

from kvdocs.serving.log_vllm import PHRASES
from kvdocs.site.tables_field import decoder

print(decoder(PHRASES))
