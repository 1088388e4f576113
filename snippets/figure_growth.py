"""How caches grow: straight lines, bends at a window, a latent."""

from kvdocs.site.charts import Curve, growth
from kvdocs.site.scope import model

LENGTHS = (0, 1024, 2047, 4096, 8192)
MODELS = {
    "microsoft/Phi-3-mini-4k-instruct": "every layer has a window",
    "google/gemma-3-27b-it": "most layers have a window",
    "meta-llama/Llama-3.1-8B-Instruct": "every layer keeps all",
    "deepseek-ai/DeepSeek-V3": "a latent in every layer",
    "Qwen/Qwen2.5-7B-Instruct": "every layer keeps all",
}

curves = []
for model_id, note in MODELS.items():
    found = model(model_id)
    points = tuple((tokens, found.layout.bytes(tokens)) for tokens in LENGTHS)
    curves.append(Curve(found.name, note, points))

print(growth(curves))
