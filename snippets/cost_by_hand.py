"""A layout stated by hand, and what `kvdocs cost layout.toml` prints about it."""

from kvdocs.cost import cost
from kvdocs.facts.models import Model, Source
from kvdocs.formula.by_hand import parse

FILE = "layout.toml"
LAYOUT = """\
[[layers]]
keeps = "window"
count = 12
kv_heads = 8
head_dim = 64
window = 128

[[layers]]
keeps = "full"
count = 12
kv_heads = 8
head_dim = 64
"""

found = Model(FILE, parse(LAYOUT, FILE), Source("file", detail=FILE))
print(f"```toml\n{LAYOUT}```\n")
print(f"```text\n{cost(found)}\n```")
