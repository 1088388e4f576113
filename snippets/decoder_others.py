"""What SGLang, TensorRT-LLM and others print about their caches, phrase by phrase."""

from kvdocs.logs.known import phrases
from kvdocs.site.tables_field import decoder

print(decoder(phrases("sglang", "others", "pytorch")))
