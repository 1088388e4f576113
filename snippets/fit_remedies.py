"""What `kvdocs fit` says where it does not fit."""

from kvdocs.fit.options import ask
from kvdocs.site.scope import model

TOKENS, USERS = 4096, 30
found = model("Qwen/Qwen2.5-7B-Instruct")
answer = ask(found, gpu="rtx_4090", tokens=TOKENS, users=USERS)
print("``` {.text .kv-wrap}")
print(str(answer).partition("\n\n")[2].partition("\n\n")[2])
print("```")
