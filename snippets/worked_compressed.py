"""What DeepSeek-V4-Flash keeps for a conversation of 4,096 tokens, kind by kind."""

from kvdocs.site.scope import model

found = model("deepseek-ai/DeepSeek-V4-Flash")

print("``` {.text .kv-wrap}")
for line in found.layout.derivation(4096):
    print(line)
print("```")
