"""Whether an expression counts bytes: so that no page calls 57,344 bytes 57,344 conversations.

In: an expression of ``expressions.py``. Out: 1 where its value is memory, 0 where it is a plain
number, None where that cannot be told (a cited or measured figure, a constant of a snippet).
"""

from __future__ import annotations

import ast

from kvdocs.site.engines import ENGINES
from kvdocs.site.words import Written
from kvdocs.units import BYTE_UNITS

MEMORY = {"bytes", "slope", "slope_past_windows", "constant_bytes", "weights"}


def check_unit(literal: str, expression: str) -> None:
    """Hold the unit of a literal against what its expression counts.

    Raises:
        ValueError: bytes are stated as something else, or something else as bytes.

    >>> check_unit("56 KiB", "qwen2_5_7b.slope()")
    >>> check_unit("7", "qwen2_5_7b.slope()")
    Traceback (most recent call last):
    ...
    ValueError: qwen2_5_7b.slope() counts bytes, so it is written with a unit of memory
    """
    found = of(ast.parse(expression.strip(), mode="eval").body)
    written = Written.read(literal).unit in BYTE_UNITS
    if found == 1 and not written:
        raise ValueError(f"{expression} counts bytes, so it is written with a unit of memory")
    if found is not None and found != 1 and written:
        raise ValueError(f"{expression} does not count bytes, so it has no unit of memory")


def of(node: ast.expr) -> int | None:
    """The power of bytes in a value.

    Raises:
        ValueError: bytes and a plain number are added.
    """
    if isinstance(node, ast.BinOp):
        left, right = of(node.left), of(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add | ast.Sub):
            if left != right:
                raise ValueError(f"{ast.unparse(node)!r} adds bytes and a plain number")
            return left
        return left + right if isinstance(node.op, ast.Mult) else left - right
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in ENGINES:
            return 1
        if isinstance(node.func, ast.Name):  # floor and ceil count what they round
            return 0 if node.func.id == "crossover" else of(node.args[0])
        return of(node.func)
    if isinstance(node, ast.Attribute):
        root = ast.unparse(node).partition(".")[0]
        if root in ("cited", "measured", "snippet", "code", "example"):
            return None
        memory = root == "gpu" or node.attr in MEMORY or node.attr.endswith("_bytes")
        return 1 if memory else 0
    return 0
