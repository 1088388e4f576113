"""What `kvdocs cost google/gemma-3-4b-it --tokens 2048 --json` prints."""

import json

from kvdocs.cost import answer
from kvdocs.facts.snapshot import load

found = load("google/gemma-3-4b-it")
assert found is not None
print("```json")
print(json.dumps(answer(found, tokens=2048, dtype="bfloat16"), indent=2))
print("```")
