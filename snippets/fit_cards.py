"""What cards sold as 24 GB really have, and how many conversations of Qwen2.5-7B that makes."""

from kvdocs.facts.gpus import load_gpus
from kvdocs.fit.options import ask
from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import ratio

TOKENS = 4096
found = model("Qwen/Qwen2.5-7B-Instruct")
rows = []
for card in sorted(load_gpus().values(), key=lambda one: -one.memory_mib):
    if card.sold_as != "24 GB":
        continue
    memory = card.memory_mib * 2**20
    answer = ask(found, gpu=card.key, tokens=TOKENS)
    seats = f"{answer.sure.sequences} to {answer.best.sequences}"
    fp8 = "storage and arithmetic" if card.fp8_arithmetic else "storage only"
    rows.append(
        [
            card.name,
            f"{card.memory_mib:,}&nbsp;MiB",
            f"{ratio(memory, 2**30, 2)}&nbsp;GiB",
            seats,
            fp8,
        ]
    )
print(markdown(["card", "driver reports", "that is", "seats", "FP8"], rows, "lrrrl"))
