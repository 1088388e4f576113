"""How many of the public reports came out how, by the kind of evidence they are."""

from collections import Counter

from kvdocs.explain.replay import replay
from kvdocs.facts.reports import EVIDENCE, load_reports
from kvdocs.site.tables import markdown
from kvdocs.site.tables_field import AGREES, EXPLAINED, INFERRED, READ, REFUSED, outcome

counts = Counter((report.evidence, outcome(replay(report))) for report in load_reports().values())
outcomes = (AGREES, EXPLAINED, INFERRED, REFUSED, READ)
rows = [[kind, *(counts[kind, found] or "–" for found in outcomes)] for kind in EVIDENCE]
print(markdown(["Evidence", *outcomes], rows, "lrrrrr"))
