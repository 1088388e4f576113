"""The formula on two real models, from their published configs."""

from kvdocs.site.scope import model
from kvdocs.units import binary

print("```text")
for model_id in ("Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-7B-Instruct"):
    layout = model(model_id).layout
    print(f"{model_id}, one token:")
    print(f"  {layout.derivation()[0]} = {binary(layout.slope())}\n")
print("```")
