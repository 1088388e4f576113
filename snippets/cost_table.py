"""What `kvdocs cost Qwen/Qwen2.5-7B-Instruct` prints."""

from kvdocs.cost import cost
from kvdocs.facts.snapshot import load

found = load("Qwen/Qwen2.5-7B-Instruct")
assert found is not None
print("```text")
print(cost(found))
print("```")
