"""How one engine holds one model, under given flags, on a given card."""
