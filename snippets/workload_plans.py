"""How many sequences fit in the example's pool, planned in several ways."""

from kvdocs.site.example_workload import example
from kvdocs.site.tables import markdown
from kvdocs.units import ratio

NAMES = {
    "max_model_len": "at `--max-model-len`",
    "longest": "as long as the longest of the log",
    "p99": "as long as p99 of the log",
    "most": "from the log, all at their most at once",
    "moment": "from the log, at a random moment",
}

rows = []
for plan in example().estimates:
    percent = plan.overflow * 100
    often = ratio(percent.numerator, percent.denominator, 2) + "%"
    if percent < 0.01:
        often = "less than 0.01%"
    tokens = f"{plan.tokens:,}" if plan.tokens else ""
    rows.append([NAMES[plan.way], tokens, plan.sequences, often])

header = ["Each sequence is taken to be", "Tokens", "Sequences", "They outgrow the pool"]
print(f"The pool has {example().space.blocks:,} blocks for requests:\n")
print(markdown(header, rows, right="lrrr"))
