"""The 24 GB answer, term by term: what is left for the cache of Qwen2.5-7B on an RTX 4090."""

from kvdocs.fit.options import ask
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


TOKENS = 4096
answer = ask(model("Qwen/Qwen2.5-7B-Instruct"), gpu="rtx_4090", tokens=TOKENS)
rows = [
    ["−" if term.sign < 0 else "", amount(term.bytes, term.best), term.name, linked(term.source)]
    for term in answer.terms
]
left = amount(answer.available, answer.available_at_best)
rows.append(["=", f"**{left}**", "**left for the cache**", ""])
print(markdown(["sign", "amount", "what", "known from"], rows, "lrll"))
