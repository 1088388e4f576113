"""What vLLM prints about its cache, phrase by phrase."""

from kvdocs.logs.reading import VLLM
from kvdocs.site.tables_field import decoder

print(decoder(VLLM))
