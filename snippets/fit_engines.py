"""The sum of one model on one card in each engine, with the same working memory stated for all."""

from kvdocs.fit.options import ask
from kvdocs.site.engines import NAMES
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import gib, span


def amount(one: int, other: int) -> str:
    """In GiB, and never broken before the unit."""
    return gib(one, other).replace(" GiB", "\u00a0GiB")


TOKENS, OVERHEAD = 4096, "1 GiB"
found = model("Qwen/Qwen2.5-7B-Instruct")
answers = [
    ask(found, gpu="rtx_4090", engine=name, tokens=TOKENS, overhead=OVERHEAD)
    for name in NAMES.values()
]
signs = {
    term.name.partition(":")[0]: "−" if term.sign < 0 else ""
    for answer in answers
    for term in answer.terms
}
amounts = [
    {term.name.partition(":")[0]: amount(term.bytes, term.best) for term in answer.terms}
    for answer in answers
]
rows = [
    [f"{sign} {name}", *(terms.get(name, "–") for terms in amounts)] for name, sign in signs.items()
]
left = [amount(answer.available, answer.available_at_best) for answer in answers]
rows.append(["= left for the cache", *left])
seats = [span(answer.sure.sequences, answer.best.sequences) for answer in answers]
rows.append(["**sequences**", *(f"**{count}**" for count in seats)])
print(markdown(["term", *NAMES], rows, "lrrr"))
