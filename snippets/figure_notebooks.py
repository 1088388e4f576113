"""The notebook idea: readers, one desk, one notebook each."""

from kvdocs.site.charts import notebooks

print(notebooks())
