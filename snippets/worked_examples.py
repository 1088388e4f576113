"""The formula on two real models, from their published configs."""

from kvdocs.facts.snapshot import load
from kvdocs.units import binary

for model_id in ("Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-7B-Instruct"):
    layout = load(model_id).layout
    print(f"**{model_id}**, one token:\n")
    print("```text")
    print(*layout.derivation(), sep="\n")
    print(" " * 60 + f"= {binary(layout.slope())} per token")
    print("```\n")
