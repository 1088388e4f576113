"""What `kvdocs fit` says where it does not fit."""

from kvdocs.fit.answer import what_helps
from kvdocs.fit.options import ask
from kvdocs.fit.table import table
from kvdocs.site.scope import model

TOKENS, USERS = 4096, 30
found = model("Qwen/Qwen2.5-7B-Instruct")
answer = ask(found, gpu="rtx_4090", tokens=TOKENS, users=USERS)
print("``` {.text .kv-wrap}")
print(table(answer, what_helps(answer)).partition("\n\n")[2].partition("\n\n")[2])
print("```")
