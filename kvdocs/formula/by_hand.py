"""A layout stated by hand, for a model that no rule covers.

In: TOML. Out: a ``CacheLayout``, or a ``ConfigError`` naming the entry and the key. Each
``[[layers]]`` says what layers keep, how many there are, and their sizes, in the order of the
model:

    [[layers]]
    keeps = "window"
    count = 24
    kv_heads = 8
    head_dim = 64
    window = 128

    [[layers]]
    keeps = ["latent", "index"]     # several things side by side
    kv_lora_rank = 512
    rope_dim = 64
    index_dim = 128

``keeps`` is one of the names in ``KINDS``, or a list of them; ``count`` is 1 where it is not given.
``head_dim`` stands for ``k_dim`` and ``v_dim``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kvdocs.formula.compressed import Compressed
from kvdocs.formula.config import LARGEST, MOST_LAYERS, STATED_BY_HAND
from kvdocs.formula.config_file import too_long, unread
from kvdocs.formula.constant import CrossAttention, NoCache, Shared, State
from kvdocs.formula.errors import ConfigError, shown
from kvdocs.formula.hidden import HiddenStates, HiddenWindow
from kvdocs.formula.layers import Chunk, FullAttention, Latent, Layer, SlidingWindow
from kvdocs.formula.layout import CacheLayout
from kvdocs.formula.several import IndexKeys, LatentWindow, Several

KINDS: dict[str, type[Layer]] = {
    "full": FullAttention,
    "window": SlidingWindow,
    "chunk": Chunk,
    "latent": Latent,
    "latent window": LatentWindow,
    "index": IndexKeys,
    "state": State,
    "cross": CrossAttention,
    "compressed": Compressed,
    "hidden": HiddenStates,
    "hidden window": HiddenWindow,
    "shared": Shared,
    "none": NoCache,
}
MAY_BE_ZERO = {"conv", "recurrent", "rope_dim", "v_dim", "overlap"}


def parse(text: str, source: str) -> dict[str, object]:
    """The TOML as an object that ``layout`` and ``layout_of`` take.

    Raises:
        ConfigError: it is not TOML, or names a model_type.

    >>> stated = parse('[[layers]]\\nkeeps = "full"\\nkv_heads = 4\\nhead_dim = 128', "my.toml")
    >>> layout(stated, "my.toml").slope()
    2048
    """
    import tomllib

    try:
        found = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(source, "", f"is not TOML: {error}") from None
    except (ValueError, RecursionError) as error:
        place = too_long(text, r"([\w.-]+)\s*=")
        raise ConfigError(source, place, f"is not usable TOML: {unread(error)}") from None
    if "model_type" in found:
        raise ConfigError(source, "model_type", "is unknown", "Known are layers, name and source")
    return {"model_type": STATED_BY_HAND} | found


def layout(stated: Mapping[str, object], source: str) -> CacheLayout:
    """The layout of a parsed statement.

    Raises:
        ConfigError: there are no layers, none keeps anything, or an entry says something unknown,
            missing or no size.
    """
    if unknown := sorted(set(stated) - {"model_type", "layers", "name", "source"}):
        raise ConfigError(source, unknown[0], "is unknown", "Known are layers, name and source")
    entries = stated.get("layers")
    if not isinstance(entries, list) or not entries:
        remedy = "Write [[layers]] and what they keep"
        raise ConfigError(source, "layers", "is missing or no list of tables", remedy)
    layers: list[Layer] = []
    for number, entry in enumerate(entries, 1):
        place = f"layers entry {number}"
        if not isinstance(entry, dict):
            raise ConfigError(source, place, "is not a table")
        layer, count = _entry(entry, source, place)
        layers += [layer] * min(count, MOST_LAYERS + 1)
        if len(layers) > MOST_LAYERS:
            raise ConfigError(source, place, f"makes more than {MOST_LAYERS:,} layers")
        if type(layer) is Shared and all(isinstance(one, Shared) for one in layers):
            problem = "is shared, and no layer before it has a cache to read"
            raise ConfigError(source, f"{place}, keeps", problem)
    if all(isinstance(layer, Shared) for layer in layers):  # NoCache is one too
        raise ConfigError(source, "layers", "keep nothing, so there is no cache to count")
    return CacheLayout(tuple(layers))


def _entry(entry: dict[str, object], source: str, place: str) -> tuple[Layer, int]:
    keeps = entry.get("keeps")
    listed = keeps if isinstance(keeps, list) else [keeps]
    names = [name for name in listed if isinstance(name, str) and name in KINDS]
    if not names or len(names) != len(listed):
        remedy = f"Known are {', '.join(KINDS)}"
        raise ConfigError(source, f"{place}, keeps", f"is {shown(keeps)}", remedy)
    sizes = {name: value for name, value in entry.items() if name not in ("keeps", "count")}
    if "head_dim" in sizes:
        if twice := {"k_dim", "v_dim"} & set(sizes):
            problem = f"stands beside {min(twice)}; state head_dim, or k_dim and v_dim"
            raise ConfigError(source, f"{place}, head_dim", problem)
        dim = _size("head_dim", sizes.pop("head_dim"), source, place)
        sizes |= {"k_dim": dim, "v_dim": dim}
    parts, used = [], set()
    for name in names:
        fields = dataclasses.fields(KINDS[name])  # type: ignore[arg-type]
        parts.append(KINDS[name](**_sizes(fields, sizes, source, place)))
        if isinstance(parts[-1], State) and not parts[-1].conv + parts[-1].recurrent:
            raise ConfigError(source, f"{place}, keeps", "is a state of 0 elements", "State a size")
        used |= {field.name for field in fields}
    if unknown := sorted(set(sizes) - used):
        raise ConfigError(
            source, f"{place}, {unknown[0]}", f"is not a size of {' and '.join(names)}"
        )
    count = _size("count", entry.get("count", 1), source, place)
    return (parts[0] if len(parts) == 1 else Several(tuple(parts))), count


def _sizes(
    fields: tuple[dataclasses.Field[object], ...], sizes: dict[str, object], source: str, place: str
) -> dict[str, int]:
    missing = [
        field.name
        for field in fields
        if field.default is dataclasses.MISSING and field.name not in sizes
    ]
    if missing[-2:] == ["k_dim", "v_dim"]:
        missing[-2:] = ["head_dim"]
    if missing:
        raise ConfigError(source, f"{place}, {missing[0]}", "is missing")
    return {
        field.name: _size(field.name, sizes[field.name], source, place)
        for field in fields
        if field.name in sizes
    }


def _size(name: str, value: object, source: str, place: str) -> int:
    if name == "float32" and isinstance(value, bool):
        return value
    least = 0 if name in MAY_BE_ZERO else 1
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
        problem = f"is {shown(value)}, not a whole number from {least} to {LARGEST:,}"
        raise ConfigError(source, f"{place}, {name}", problem)
    return value
