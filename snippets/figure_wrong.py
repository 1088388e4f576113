"""How far the simple formula is off, for every model of the snapshot for which it ever is."""

from fractions import Fraction

from kvdocs.formula.five_factors import five_factors
from kvdocs.site.charts import Error, wrong
from kvdocs.site.scope import site_catalogue

LENGTHS = (4096, 32_768, 131_072)

errors = []
for model in site_catalogue().models:
    longest = model.longest_text or LENGTHS[0]  # where it is not known, the shortest only
    simple = five_factors(model.config, model.id)
    ratios = tuple(
        (tokens, Fraction(simple.bytes(tokens), model.layout.bytes(tokens)))
        for tokens in LENGTHS
        if tokens <= longest
    )
    if any(ratio != 1 for _, ratio in ratios):
        errors.append(Error(model.name, ratios))

print(wrong(sorted(errors, key=lambda one: -one.ratios[-1][1]), LENGTHS))
