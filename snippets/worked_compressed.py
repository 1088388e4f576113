"""What DeepSeek-V4-Flash keeps for a conversation of 4,096 tokens, kind by kind."""

from kvdocs.site.scope import model

TOKENS = 4096
found = model("deepseek-ai/DeepSeek-V4-Flash")

print("``` {.text .kv-wrap}")
for line in found.layout.derivation(TOKENS):
    print(line)
print("```")
