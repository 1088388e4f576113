"""A layer that keeps a state of fixed size, as the sequence grows."""

from kvdocs.site.charts import Band, Cell, kept


def bands(tokens: int) -> list[Band]:
    inputs = tuple(Cell(i, i, True) for i in (1, 2, 3, 4))
    return [
        Band("state", "state", (Cell(1, 5, True),), height=2),
        Band("last inputs", "key", inputs, height=0.5),
    ]


print(kept("A state that does not grow", bands, "kept-state"))
