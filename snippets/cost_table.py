"""What `kvdocs cost Qwen/Qwen2.5-7B-Instruct` prints."""

from kvdocs.cost import answer, table
from kvdocs.facts.snapshot import load

model = load("Qwen/Qwen2.5-7B-Instruct")
print("```text")
print(table(model, answer(model, tokens=4096, dtype="bfloat16")))
print("```")
