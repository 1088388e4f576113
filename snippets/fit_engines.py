"""The sum of one model on one card in each engine, with the same working memory stated for all."""

from kvdocs.facts.claims import load_gpus
from kvdocs.fit.capacity import fit, total, total_at_best
from kvdocs.site.engines import QUESTIONS
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import gib, span


def amount(one: int, other: int) -> str:
    """In GiB, and never broken before the unit."""
    return gib(one, other).replace(" GiB", "\u00a0GiB")


found = model("Qwen/Qwen2.5-7B-Instruct")
card = load_gpus()["rtx_4090"]
assert found.weights is not None
memory, weights = card.memory_mib * 2**20, found.weights.bytes
answers = [
    fit(ask(found, memory, card, tokens=4096, weights=weights, overhead=2**30))
    for ask in QUESTIONS.values()
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
left = [amount(total(answer.terms), total_at_best(answer.terms)) for answer in answers]
rows.append(["= left for the cache", *left])
seats = [span(answer.sure.sequences, answer.best.sequences) for answer in answers]
rows.append(["**sequences**", *(f"**{count}**" for count in seats)])
print(markdown(["term", *QUESTIONS], rows, "lrrr"))
