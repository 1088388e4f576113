"""What `kvdocs cost Qwen/Qwen2.5-7B-Instruct` prints."""

from kvdocs.cost import answer, table
from kvdocs.site.scope import model

found = model("Qwen/Qwen2.5-7B-Instruct")
print("```text")
print(table(found, answer(found, tokens=4096, dtype="bfloat16")))
print("```")
