"""Who shares keys and values: the head counts of three real models."""

from kvdocs.site.charts import Heads, shared_heads
from kvdocs.site.scope import model

MODELS = {
    "MHA": "microsoft/Phi-3-mini-4k-instruct",
    "GQA": "Qwen/Qwen2.5-7B-Instruct",
    "MQA": "tiiuae/falcon-7b",
}

schemes = []
for scheme, model_id in MODELS.items():
    found = model(model_id)
    query_heads = found.config["num_attention_heads"]
    schemes.append(Heads(scheme, found.name, query_heads, found.layout.kv_heads))

print(shared_heads(schemes))
