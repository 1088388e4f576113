"""The example's lengths as a table."""

from kvdocs.site.example_workload import example
from kvdocs.site.tables import markdown
from kvdocs.workload.lengths import mean, percentile

log = example().workload
rows = []
for name, lengths in {
    "Prompt": log.prompts,
    "Answer": log.outputs,
    "Prompt and answer": log.totals,
}.items():
    figures = [round(mean(lengths)), *(percentile(lengths, p) for p in (50, 95, 99)), max(lengths)]
    rows.append([name, *(f"{figure:,}" for figure in figures)])

print(f"{log.requests:,} requests, in tokens:\n")
print(markdown(["Part", "Mean", "p50", "p95", "p99", "Longest"], rows, right="lrrrrr"))
