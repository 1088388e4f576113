"""What is known from outside: published configs, weight sizes, claims about engines and GPUs.

Every value carries its source and the date it was read.
"""
