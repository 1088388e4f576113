"""The lengths of the example's requests, as bars, and what plans are made from."""

from kvdocs.site.charts import Lengths, lengths
from kvdocs.site.example_workload import LIMIT, example
from kvdocs.workload.lengths import bins, percentile

totals = example().workload.totals
marks = {
    "p50": percentile(totals, 50),
    "p99": percentile(totals, 99),
    "limit": LIMIT,
}
print(lengths(Lengths(tuple(bins(totals)), tuple(marks.items())), "workload-lengths"))
