"""Layouts, engines and GPUs: what an engine reserves, and how many sequences fit."""
