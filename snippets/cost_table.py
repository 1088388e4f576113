"""What `kvdocs cost Qwen/Qwen2.5-7B-Instruct` prints."""

from kvdocs.cost import answer, table
from kvdocs.facts.snapshot import load

found = load("Qwen/Qwen2.5-7B-Instruct")
assert found is not None
print("```text")
print(table(found, answer(found, tokens=4096, dtype="bfloat16")))
print("```")
