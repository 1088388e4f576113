"""Serving: a layout, an engine and a memory size in; how many users out."""
