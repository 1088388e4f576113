"""What DeepSeek-V4-Flash keeps for a conversation of 4,096 tokens, kind by kind."""

from kvdocs.site.scope import model

found = model("deepseek-ai/DeepSeek-V4-Flash")
lines = found.layout.derivation(4096)

print("```text", *lines, "```", sep="\n")
