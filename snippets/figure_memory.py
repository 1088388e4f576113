"""Where the memory of one card goes as conversations are added."""

from fractions import Fraction

from kvdocs.facts.claims import load_claims
from kvdocs.facts.gpus import load_gpus
from kvdocs.site.charts import Wedge, memory_wedge
from kvdocs.site.scope import model

TOKENS = 4096
found = model("Qwen/Qwen2.5-7B-Instruct")
card = load_gpus()["rtx_4090"]
share = Fraction(str(load_claims()["vllm.gpu_memory_utilization.default"].value))

assert found.weights  # published for this model
memory = card.memory_mib * 1024**2
kept_free = memory - int(memory * share)  # what vLLM leaves alone by default

print(
    memory_wedge(
        Wedge(
            model=found.name,
            weights_bytes=found.weights.bytes,
            bytes_per_conversation=found.layout.bytes(TOKENS),
            tokens=TOKENS,
            memory_bytes=memory,
            memory_name=card.name,
            other_bytes=kept_free,
        )
    )
)
