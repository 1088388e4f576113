"""Who shares keys and values: the head counts of three real models."""

from kvdocs.facts.snapshot import load
from kvdocs.site.charts import Heads, shared_heads

MODELS = {
    "MHA": "microsoft/Phi-3-mini-4k-instruct",
    "GQA": "Qwen/Qwen2.5-7B-Instruct",
    "MQA": "tiiuae/falcon-7b",
}

schemes = []
for scheme, model_id in MODELS.items():
    model = load(model_id)
    query_heads = model.config["num_attention_heads"]
    schemes.append(Heads(scheme, model.name, query_heads, model.layout.layers[0].kv_heads))

print(shared_heads(schemes))
