"""The 24 GB answer, term by term: what is left for the cache of Qwen2.5-7B on an RTX 4090."""

from kvdocs.engines.vllm.question import VllmQuestion
from kvdocs.facts.claims import load_gpus
from kvdocs.fit.capacity import fit, total
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import gib


def amount(one: int, other: int) -> str:
    """In GiB, and never broken before the unit."""
    return gib(one, other).replace(" GiB", "\u00a0GiB")


def linked(source: str) -> str:
    """Addresses as short links; a flag as code."""
    if source.startswith("--"):
        return f"`{source}`"
    parts = source.split(", ")
    return ", ".join(f"[log]({one})" if one.startswith("https") else one for one in parts)


found = model("Qwen/Qwen2.5-7B-Instruct")
card = load_gpus()["rtx_4090"]
assert found.weights is not None
answer = fit(
    VllmQuestion(
        found,
        card.memory_mib * 2**20,
        card,
        tokens=4096,
        weights=found.weights.bytes,
        weights_source=found.weights.kind,
    )
)
best = sum(term.sign * term.best for term in answer.terms)
rows = [
    ["−" if term.sign < 0 else "", amount(term.bytes, term.best), term.name, linked(term.source)]
    for term in answer.terms
]
rows.append(["=", f"**{amount(total(answer.terms), best)}**", "**left for the cache**", ""])
print(markdown(["sign", "amount", "what", "known from"], rows, "lrll"))
