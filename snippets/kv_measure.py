"""kv_measure.py: the bytes of a cache that was really allocated, beside the formula's.

pip install torch transformers
python kv_measure.py [MODEL]          a Hub id, a folder, or a .gguf file (needs gguf, accelerate)
python kv_measure.py --meta [MODEL]   the model's full size, without its weights or their memory
"""

import os
import sys
from typing import Any

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

META = "--meta" in sys.argv
MODEL = next((arg for arg in sys.argv[1:] if arg != "--meta"), "Qwen/Qwen2.5-0.5B-Instruct")
PROMPT = " The notes grow as the story does" * 40  # a few hundred tokens
DTYPE = torch.bfloat16  # 2 bytes an element, as float16

if META:  # tensors with a size and nothing in them: only the config is read
    device = "meta"
    config = AutoConfig.from_pretrained(MODEL).get_text_config(decoder=True)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=DTYPE)
    ids = torch.zeros(1, 4096, dtype=torch.long, device=device)
else:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    is_gguf = MODEL.endswith(".gguf")
    folder, file = os.path.split(os.path.abspath(MODEL)) if is_gguf else (MODEL, None)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=DTYPE).to(device)
    ids = tokenizer(PROMPT, return_tensors="pt")["input_ids"].to(device)


def measured_bytes(ids: Any) -> int:
    """Run the prompt, then sum what the returned cache really holds: K and V of every layer."""
    with torch.no_grad():
        out = model(input_ids=ids, use_cache=True)
    cache = out["cache"] if "cache" in out else out["past_key_values"]  # 5.24 renamed it
    return sum(t.numel() * t.element_size() for x in cache.layers for t in (x.keys, x.values))


cfg = model.config.get_text_config(decoder=True)
heads = cfg.num_attention_heads
kv_heads = getattr(cfg, "num_key_value_heads", None) or heads
head_dim = getattr(cfg, "head_dim", None) or cfg.hidden_size // heads
per_token = 2 * cfg.num_hidden_layers * kv_heads * head_dim * DTYPE.itemsize

print(f"{MODEL} on {device}")
for prompt in (ids, torch.cat([ids, ids], dim=-1)):  # the prompt, then twice the prompt
    tokens = prompt.shape[-1]
    predicted = per_token * tokens
    try:
        measured = measured_bytes(prompt)
    except RuntimeError as error:
        pair = f"transformers {transformers.__version__} with torch {torch.__version__}"
        sys.exit(f"{pair} cannot run this on {device} ({error}): pip install -U transformers")
    print(f"tokens in prompt : {tokens:,}")
    print(f"predicted        : {predicted:,} bytes ({per_token / 1024:.1f} KiB/token)")
    print(f"measured         : {measured:,} bytes ({measured / tokens / 1024:.1f} KiB/token)")
    print(f"ratio            : {measured / predicted:.3f}")
    if measured != predicted:
        print("not equal: this cache is not K and V of every layer, KV head and token")
