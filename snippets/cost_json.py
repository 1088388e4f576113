"""What `kvdocs cost google/gemma-3-4b-it --tokens 2048 --json` prints."""

import json

from kvdocs.cost import answer
from kvdocs.site.scope import model

found = model("google/gemma-3-4b-it")
print("```json")
print(json.dumps(answer(found, tokens=2048, dtype="bfloat16"), indent=2))
print("```")
