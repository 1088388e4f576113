"""The versions with which the experiments are run by every `make test`."""

from kvdocs.site.evidence import pinned

print(f"They run with {pinned('transformers', 'torch', 'tokenizers')}, from `requirements.lock`.")
