"""How much one sequence takes: a value with the figures, which prints as the table."""

import kvdocs

found = kvdocs.cost("Qwen/Qwen2.5-7B-Instruct", tokens=32_768, engine="vllm")
print("bytes:", found.bytes, "per token:", found.bytes_per_token, "known:", found.known_by)
print()
print(found)
