"""What SGLang, TensorRT-LLM and others print about their caches, phrase by phrase."""

from kvdocs.logs.others import OTHERS, PYTORCH
from kvdocs.logs.sglang import SGLANG
from kvdocs.site.tables_field import decoder

print(decoder([*SGLANG, *OTHERS, *PYTORCH]))
