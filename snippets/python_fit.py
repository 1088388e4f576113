"""What fits on a card: figures at both ends of what is known, and what would help."""

import kvdocs

found = kvdocs.fit("Qwen/Qwen2.5-7B-Instruct", gpu="4090", users=10, tokens=16_384)
print("fits:", found.fits, "for sure:", found.sure.sequences, "at best:", found.best.sequences)
for one in found.helps:
    print(f"{one.flag}: {one.text}")
