"""What `kvdocs cost google/gemma-3-4b-it --tokens 2048 --json` prints."""

import json

from kvdocs.cost import cost
from kvdocs.facts.snapshot import load

found = load("google/gemma-3-4b-it")
assert found is not None
print("```json")
print(json.dumps(cost(found, tokens=2048).as_json(), indent=2))
print("```")
