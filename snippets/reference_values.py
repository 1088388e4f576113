"""Reference values for the cheat sheet, among them the model without grouped-query attention."""

from kvdocs.site.scope import model
from kvdocs.site.tables import markdown
from kvdocs.units import binary

TOKENS = 4096
QWEN = model("Qwen/Qwen2.5-7B-Instruct")
LAYOUTS = {
    "Qwen2.5-0.5B-Instruct": model("Qwen/Qwen2.5-0.5B-Instruct").layout,
    "Qwen2.5-7B-Instruct": QWEN.layout,
    "Llama-3.1-8B-Instruct": model("meta-llama/Llama-3.1-8B-Instruct").layout,
    "Qwen2.5-7B without grouping": QWEN.layout.without_sharing(QWEN.config["num_attention_heads"]),
}

rows = []
for name, layout in LAYOUTS.items():
    sizes = binary(layout.slope()), binary(layout.bytes(TOKENS))
    rows.append([name, len(layout.layers), layout.kv_heads, layout.head_dim, *sizes])

header = ["Model", "Layers", "KV heads", "head_dim", "Per token", f"{TOKENS:,} tokens"]
print(markdown(header, rows, right="lrrrrr"))
