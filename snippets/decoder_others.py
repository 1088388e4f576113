"""What SGLang, TensorRT-LLM and others print about their caches, phrase by phrase."""

from kvdocs.serving.log_others import OTHERS, PYTORCH
from kvdocs.serving.log_sglang import SGLANG
from kvdocs.site.tables_field import decoder

print(decoder([*SGLANG, *OTHERS, *PYTORCH]))
