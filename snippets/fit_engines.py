"""The sum of one model on one card in each engine, with the same working memory stated for all."""

from kvdocs.facts.claims import load_gpus
from kvdocs.serving.capacity import fit, total, total_at_best
from kvdocs.site.engines import QUESTIONS
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import ratio, span

GIB = 2**30


def gib(one: int, other: int) -> str:
    """One amount in GiB, or the two ends of a range."""
    low, high = (ratio(count, GIB, 2) for count in sorted((one, other)))
    return (f"{low} GiB" if low == high else f"{low} to {high} GiB").replace(" ", "\u00a0")


found = model("Qwen/Qwen2.5-7B-Instruct")
card = load_gpus()["rtx_4090"]
assert found.weights is not None
memory, weights = card.memory_mib * 2**20, found.weights.bytes
answers = [
    fit(ask(found, memory, card, tokens=4096, weights=weights, overhead=GIB))
    for ask in QUESTIONS.values()
]
signs = {
    term.name.partition(":")[0]: "−" if term.sign < 0 else ""
    for answer in answers
    for term in answer.terms
}
amounts = [
    {term.name.partition(":")[0]: gib(term.bytes, term.best) for term in answer.terms}
    for answer in answers
]
rows = [
    [f"{sign} {name}", *(terms.get(name, "–") for terms in amounts)] for name, sign in signs.items()
]
left = [gib(total(answer.terms), total_at_best(answer.terms)) for answer in answers]
rows.append(["= left for the cache", *left])
seats = [span(answer.sure.sequences, answer.best.sequences) for answer in answers]
rows.append(["**sequences**", *(f"**{count}**" for count in seats)])
print(markdown(["term", *QUESTIONS], rows, "lrrr"))
