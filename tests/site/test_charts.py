"""The figures of the site: well-formed, accessible, inside their frame, and true to their numbers.

Numbers are read back from the drawing itself: pixels become bytes, tokens or conversations through
the ticks that a reader would use, and are then held against the arguments.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvdocs.formula.layers import SlidingWindow
from kvdocs.site.charts import (
    Band,
    Cell,
    Curve,
    Error,
    Heads,
    Lengths,
    Share,
    Wedge,
    growth,
    kept,
    keys_and_values,
    lengths,
    memory_wedge,
    notebooks,
    shared_heads,
    shared_pool,
    tokens_band,
    wrong,
)

ROOT = Path(__file__).resolve().parents[2]
CSS = (ROOT / "docs/assets/css/figures.css").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"
MIB, GIB = 1024**2, 1024**3

HEADS = (
    Heads("MHA", "Phi-3-mini", 32, 32),
    Heads("GQA", "Qwen2.5-7B", 28, 4),
    Heads("MQA", "falcon-7b", 71, 1),
)
MANY_HEADS = (
    Heads("MHA", "many", 128, 128),
    Heads("GQA", "Llama-3.1-70B", 64, 8),
    Heads("GQA", "odd", 96, 24),
    Heads("MQA", "a-model-with-a-very-long-name", 128, 1),
)


def wedge(model: str, weights: int, each: int, memory: int, name: str, other: int) -> Wedge:
    return Wedge(model, weights, each, 4096, memory, name, other)


QWEN_7B = wedge("Qwen2.5-7B", 15_231_233_024, 234_881_024, 24_564 * MIB, "RTX 4090", GIB)
WEDGES = {
    "qwen-7b": QWEN_7B,
    "thin-weights": wedge(
        "Qwen2.5-0.5B", 988_065_536, 50_331_648, 15_360 * MIB, "Tesla T4", 700 * MIB
    ),
    "thin-wedge": wedge("tight", 22 * GIB, 224 * MIB, 24_564 * MIB, "NVIDIA GeForce RTX 4090", GIB),
    "large": wedge("large", 141 * GIB, 1280 * MIB, 8 * 81_559 * MIB, "eight H100 80 GB", 8 * GIB),
    "no-other": wedge("Llama-3.1-8B", 16_060_522_496, 512 * MIB, 81_920 * MIB, "A100 80 GB", 0),
    "same-place": wedge("even", 10 * GIB, GIB, 24 * GIB, "a 24 GiB card", 4 * GIB),
    "nobody": wedge("nobody", 15 * GIB, 10 * GIB, 24 * GIB, "a 24 GiB card", 0),
}
CURVES = (
    Curve("Mistral-7B-v0.1", "a window of 4,096 in every layer: then flat",
          ((0, 0), (4096, 4096 * 131_072), (16_384, 4096 * 131_072))),
    Curve("Llama-3.1-8B", "full attention: a straight line", ((0, 0), (16_384, 16_384 * 131_072))),
    Curve("gemma-3-4b", "29 of 34 layers have a window of 1,024",
          ((0, 0), (1024, 1024 * 139_264), (16_384, 1024 * 118_784 + 16_384 * 20_480))),
    Curve("DeepSeek-V3", "one latent in place of K and V", ((0, 0), (16_384, 16_384 * 70_272))),
)  # fmt: skip
LOG = Lengths(
    ((64, 95, 3), (96, 127, 40), (128, 191, 400), (192, 255, 250), (256, 383, 0), (384, 511, 9)),
    (("p50", 160), ("p99", 260), ("limit", 8192)),
)
SHORT = Lengths(((1, 1, 1), (2, 2, 12_345_678)), (("p50", 2),))
SHARES = (
    Share("3 sequences, each with a place of 32,768 tokens", "set aside", ((100, 10), (100, 3))),
    Share("7 sequences", "blocks as they come", tuple((n, n) for n in range(20, 55, 5))),
)
WINDOW = SlidingWindow(kv_heads=1, k_dim=64, v_dim=64, window=6)
LENGTHS = (4096, 32_768, 131_072)
ERRORS = (
    Error(
        "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", tuple(zip(LENGTHS, (Fraction(3), 7, 8), strict=True))
    ),
    Error("falcon-7b", ((4096, Fraction(71)),)),
    Error("Mistral-7B-v0.1", ((4096, Fraction(1)), (32_768, Fraction(8)))),
)


def every_band(tokens: int) -> list[Band]:
    return [
        *keys_and_values(WINDOW, tokens),
        tokens_band("latent", "latent", tokens, tokens, height=2),
        tokens_band("index key", "index", tokens, tokens, height=0.25),
        Band("state", "state", (Cell(1, 5, True),)),
    ]


FIGURES = {
    "kept": kept("What a layer keeps", every_band, "kept"),
    "wrong": wrong(ERRORS, LENGTHS),
    "lengths": lengths(LOG),
    "short-lengths": lengths(SHORT, name="short-lengths"),
    "shared-pool": shared_pool(SHARES, 300),
    "notebooks": notebooks(),
    "heads": shared_heads(HEADS),
    "many-heads": shared_heads(MANY_HEADS, name="many-heads"),
    "growth": growth(CURVES),
    "small-growth": growth(
        [Curve("tiny", "a few kibibytes", ((0, 0), (128, 128 * 512)))], name="small-growth"
    ),
    **{name: memory_wedge(one, name=name) for name, one in WEDGES.items()},
}


def parse(markup: str) -> ET.Element:
    return ET.fromstring(markup)


def drawings(markup: str) -> dict[str, ET.Element]:
    wide, narrow = parse(markup).findall(f"{SVG}svg")
    return {"wide": wide, "narrow": narrow}


def of(element: ET.Element, cls: str) -> list[ET.Element]:
    """All descendants that carry the class, in document order."""
    return [one for one in element.iter() if cls in one.get("class", "").split()]


def words(svg: ET.Element) -> list[str]:
    return [one.text or "" for one in svg.iter(f"{SVG}text")]


def number(element: ET.Element, name: str) -> float:
    return float(element.get(name, "0"))


def points(element: ET.Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in element.get("points", "").split())
    return [(float(x), float(y)) for x, y in pairs]


# What one hundredth of the type size a letter of the site's type takes, at its boldest here,
# rounded up: measured in a browser, so that it owes nothing to the code under test.
ADVANCES = {
    " ": 25, "Iijl": 30, "!',.:;": 35, "()/[]`frt|": 40, "1": 45, "-^_{}": 50, '"*?s': 55,
    "7FJLacekvxyz": 60, "235689#$EPRSbdghnopqu": 65, "04&+<=>BTZ~÷×": 70, "ACDGHKUVXY": 75,
    "NOQ": 80, "w": 85, "Mm": 95, "%@W": 105,
}  # fmt: skip
EM = {letter: share / 100 for letters, share in ADVANCES.items() for letter in letters}


def box(text: ET.Element) -> tuple[float, float, float, float]:
    """(left, top, right, bottom) that a line of text may take."""
    size = number(text, "font-size")
    width = sum(EM[letter] for letter in text.text or "") * size
    shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor", "start")]
    left = number(text, "x") - width * shift
    base = number(text, "y")
    return left, base - size * 0.76, left + width, base + size * 0.22


def misplaced(svg: ET.Element) -> list[str]:
    """Texts outside the frame, and texts on top of one another."""
    _, _, width, height = map(float, svg.get("viewBox", "").split())
    boxes = [(one.text, box(one)) for one in svg.iter(f"{SVG}text")]
    found = [
        f"{content!r} outside: {place}"
        for content, place in boxes
        if place[0] < -1 or place[1] < -1 or place[2] > width + 1 or place[3] > height + 1
    ]
    for (a, (a1, a2, a3, a4)), (b, (b1, b2, b3, b4)) in itertools.combinations(boxes, 2):
        if a1 < b3 and b1 < a3 and a2 < b4 and b2 < a4:
            found.append(f"{a!r} on {b!r}")
    return found


@pytest.fixture(params=sorted(FIGURES))
def markup(request: pytest.FixtureRequest) -> str:
    return FIGURES[request.param]


class TestEveryFigure:
    def test_is_one_line_with_two_drawings(self, markup: str) -> None:
        figure = parse(markup)
        assert "\n" not in markup
        assert figure.tag == "figure"
        assert figure.get("class") == "kv-figure"
        assert [one.get("class") for one in figure] == [
            "kv-fig kv-fig-wide",
            "kv-fig kv-fig-narrow",
        ]

    def test_says_what_it_is(self, markup: str) -> None:
        for svg in drawings(markup).values():
            title, desc = svg[0], svg[1]
            assert svg.get("role") == "img"
            assert (title.tag, desc.tag) == (f"{SVG}title", f"{SVG}desc")
            assert svg.get("aria-labelledby", "").split() == [title.get("id"), desc.get("id")]
            assert len(title.text or "") > 10
            assert len(desc.text or "") > 60

    def test_ids_are_unique_and_begin_with_its_name(self, markup: str) -> None:
        figure = parse(markup)
        ids = [one.get("id", "") for one in figure.iter() if one.get("id")]
        assert len(set(ids)) == len(ids) == 5
        assert all(one.startswith(ids[0]) for one in ids)

    def test_is_not_indexed_by_the_search(self, markup: str) -> None:
        assert parse(markup).get("data-search-exclude") == ""

    def test_has_no_colour_or_style_of_its_own(self, markup: str) -> None:
        for one in parse(markup).iter():
            assert not {"style", "fill", "stroke", "color", "opacity"} & set(one.attrib), one.attrib
        assert not re.search(r"#[0-9a-fA-F]{3}|rgb|hsl", markup)

    def test_words_stay_inside_and_apart(self, markup: str) -> None:
        for svg in drawings(markup).values():
            assert misplaced(svg) == []

    def test_shapes_stay_inside(self, markup: str) -> None:
        for svg in drawings(markup).values():
            _, _, width, height = map(float, svg.get("viewBox", "").split())
            for one in svg.iter():
                for x, y in points(one):
                    assert -1 <= x <= width + 1
                    assert -1 <= y <= height + 1
                right, low = number(one, "x") + number(one, "width"), number(one, "y")
                assert right <= width + 1
                assert low + number(one, "height") <= height + 1

    def test_words_are_readable_at_the_smallest_width(self, markup: str) -> None:
        shown = {"narrow": 350, "wide": 600}  # px: a phone; where the wide drawing takes over
        for variant, svg in drawings(markup).items():
            width = float(svg.get("viewBox", "").split()[2])
            for text in svg.iter(f"{SVG}text"):
                assert number(text, "font-size") * shown[variant] / width >= 11

    def test_every_class_has_a_style(self, markup: str) -> None:
        drawn = {
            cls
            for one in parse(markup).iter()
            if one.tag != f"{SVG}g"
            for cls in one.get("class", "").split()
        }
        assert {cls for cls in drawn if f".{cls}" not in CSS} == set()


def test_the_style_sheet_takes_colours_from_the_palette_only() -> None:
    rules = re.sub(r"/\*.*?\*/", "", CSS, flags=re.S)
    allowed = re.compile(
        r"none|var\(--kv-[a-z-]+\)|color-mix\(in srgb, var\(--kv-[a-z]+\) \d+%, var\(--kv-ink\)\)"
    )
    values = re.findall(r"(?:fill|stroke|color|background|--kv-fig-hue):\s*([^;}]+?)\s*[;}]", rules)
    assert len(values) > 40
    assert [one for one in values if not allowed.fullmatch(one)] == []


def test_the_style_sheet_has_no_class_that_no_figure_draws() -> None:
    drawn = set(re.findall(r"kv-fig[\w-]*", " ".join(FIGURES.values())))
    six = growth([Curve(f"c{i}", "n", ((0, 0), (8, 8 + i))) for i in range(6)])
    drawn |= set(re.findall(r"kv-fig[\w-]*", six))
    styled = set(re.findall(r"\.(kv-fig[\w-]*)", CSS))
    assert styled - drawn == set()


@pytest.mark.parametrize("variant", ["wide", "narrow"])
def test_a_band_fills_the_cells_of_the_tokens_that_are_kept(variant: str) -> None:
    svg = drawings(FIGURES["kept"])[variant]
    bands = of(svg, "kv-fig-band")
    keys = [b for b in bands if words(b) == ["K"]]
    assert [len(of(band, "kv-fig-key-cell")) for band in keys] == [4, 6, 6]
    assert [len(of(band, "kv-fig-gone-cell")) for band in keys] == [0, 2, 10]
    gone, there = (of(keys[2], f"kv-fig-{name}-cell") for name in ("gone", "key"))
    assert max(number(one, "x") for one in gone) < min(number(one, "x") for one in there)


@pytest.mark.parametrize("variant", ["wide", "narrow"])
def test_dots_stand_at_their_ratio_on_a_logarithmic_axis(variant: str) -> None:
    svg = drawings(FIGURES["wrong"])[variant]
    axis = of(svg, "kv-fig-axes")[0]
    lines = [number(one, "x1") for one in axis.iter(f"{SVG}line")]
    assert words(axis)[:2] == ["right", "right"]
    ticks = [1, *(int(word[:-1]) for word in words(axis)[2::2] if word.endswith("×"))]
    assert len(lines) == len(ticks)
    scale = (lines[-1] - lines[0]) / math.log(ticks[-1])
    for row, one in zip(of(svg, "kv-fig-error"), ERRORS, strict=True):
        assert words(row) == [one.name]
        places = [number(dot, "cx") for dot in of(row, "kv-fig-error-dot")]
        for place, (_, ratio) in zip(places, one.ratios, strict=True):
            assert math.exp((place - lines[0]) / scale) == pytest.approx(float(ratio), rel=0.01)


def test_kept_and_wrong_refuse_what_they_cannot_draw() -> None:
    with pytest.raises(ValueError, match="no style 'keys'"):
        Band("K", "keys", ())
    with pytest.raises(ValueError, match="outside 1 to 16"):
        Band("K", "key", (Cell(16, 17, True),))
    with pytest.raises(ValueError, match="positive ratios"):
        Error("a", ())
    with pytest.raises(ValueError, match="no ratio below 1"):
        wrong([Error("a", ((4096, Fraction(1, 2)),))], LENGTHS)


def test_names_keep_figures_of_one_page_apart() -> None:
    one, two = memory_wedge(QWEN_7B, name="first"), memory_wedge(QWEN_7B, name="second")
    ids = [re.findall(r'id="([^"]+)"', markup) for markup in (one, two)]
    assert not set(ids[0]) & set(ids[1])
    with pytest.raises(ValueError, match="Bad name"):
        notebooks("Bad name")


def test_figures_are_the_same_every_time_and_print_nothing() -> None:
    code = (
        "from test_charts import FIGURES; import hashlib; "
        "print(hashlib.sha256(''.join(FIGURES.values()).encode()).hexdigest())"
    )
    here = hashlib.sha256("".join(FIGURES.values()).encode()).hexdigest()
    for seed in ("0", "1"):
        paths = f"{ROOT}:{Path(__file__).parent}"
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": paths, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == here


class TestNotebooks:
    def test_says_what_the_idea_is(self) -> None:
        for svg in drawings(notebooks()).values():
            said = " ".join(words(svg))
            for part in (
                "weights: one copy for everybody",
                "one notebook per reader",
                "grows with every word read",
                "no desk space left: waits",
                "K: key V: value",
                "the desk: GPU memory",
                "a chair is free: chairs are not the limit",
            ):
                assert part in said

    def test_one_reader_sits_at_each_notebook_and_one_stands(self) -> None:
        for svg in drawings(notebooks()).values():
            readers = of(svg, "kv-fig-reader")
            books = of(svg, "kv-fig-notebook")
            assert len(of(svg, "kv-fig-gaze")) == len(books) == 4
            assert len(readers) == 5
            assert sum(bool(of(one, "kv-fig-held")) for one in readers) == 1
            assert len(of(svg, "kv-fig-empty-chair")) == 1
            for reader, book in zip(readers, books, strict=False):
                head = number(reader.findall(f"{SVG}circle")[0], "cx")
                page = points(of(book, "kv-fig-note-page")[0])
                far = [x for x, y in page if y == min(y for _, y in page)]
                assert min(far) < head < max(far) + 12

    def test_every_word_has_a_key_above_its_value(self) -> None:
        for svg in drawings(notebooks()).values():
            for book in of(svg, "kv-fig-notebook"):
                keys, values = of(book, "kv-fig-key"), of(book, "kv-fig-value")
                assert len(keys) == len(values) > 2
                for key, value in zip(keys, values, strict=True):
                    assert max(y for _, y in points(key)) < min(y for _, y in points(value))

    def test_notebooks_differ_and_a_wider_one_holds_more_words(self) -> None:
        for svg in drawings(notebooks()).values():
            sizes = []
            for book in of(svg, "kv-fig-notebook"):
                page = points(of(book, "kv-fig-note-page")[0])
                sizes.append((round(page[1][0] - page[0][0], 1), len(of(book, "kv-fig-key"))))
            assert len({width for width, _ in sizes}) == 4
            assert sorted(sizes) == sorted(sizes, key=lambda one: one[1])

    def test_the_desk_is_full_and_the_next_notebook_hangs_over_its_end(self) -> None:
        for svg in drawings(notebooks()).values():
            top = points(of(svg, "kv-fig-desk-top")[0])
            left, right = top[0][0], top[1][0]
            spans = [
                points(of(one, f"kv-fig-{kind}-edge")[0])
                for kind, cls in (("book", "kv-fig-book"), ("note", "kv-fig-notebook"))
                for one in of(svg, cls)
            ]
            begins = [edge[0][0] for edge in spans]
            ends = [edge[1][0] for edge in spans]
            assert left < begins[0]
            assert ends[-1] < right
            assert all(end < begin for end, begin in zip(ends, begins[1:], strict=False))
            refused = points(of(svg, "kv-fig-refused")[0])
            assert ends[-1] < refused[0][0] < right < refused[1][0]


class TestSharedHeads:
    @pytest.mark.parametrize("schemes", [HEADS, MANY_HEADS], ids=["real", "many"])
    @pytest.mark.parametrize("variant", ["wide", "narrow"])
    def test_draws_every_head_and_every_pair(
        self, schemes: tuple[Heads, ...], variant: str
    ) -> None:
        groups = iter(of(drawings(shared_heads(schemes))[variant], "kv-fig-group"))
        for one in schemes:
            for group in itertools.islice(groups, one.kv_heads):
                squares = of(group, "kv-fig-query")
                assert len(squares) == one.query_heads // one.kv_heads
                assert len(of(group, "kv-fig-key")) == len(of(group, "kv-fig-value")) == 1
        assert next(groups, None) is None

    @pytest.mark.parametrize("variant", ["wide", "narrow"])
    def test_squares_do_not_touch(self, variant: str) -> None:
        for schemes in (HEADS, MANY_HEADS):
            squares = of(drawings(shared_heads(schemes))[variant], "kv-fig-query")
            places = sorted((number(one, "y"), number(one, "x")) for one in squares)
            assert len(set(places)) == len(places)
            side = number(squares[0], "width")
            for (y1, x1), (y2, x2) in itertools.pairwise(places):
                assert y2 - y1 > side or x2 - x1 > side

    @pytest.mark.parametrize("variant", ["wide", "narrow"])
    def test_a_line_leads_from_every_head_to_its_pair(self, variant: str) -> None:
        for group in of(drawings(shared_heads(HEADS))[variant], "kv-fig-group"):
            key = of(group, "kv-fig-key")[0]
            middle = number(key, "x") + number(key, "width") / 2
            data = of(group, "kv-fig-strand")[0].get("d", "")
            strands = [
                [float(one) for one in re.findall(r"[\d.]+", strand)]
                for strand in data.split("M")[1:]
            ]
            starts = {round(strand[0], 1) for strand in strands}
            for strand in strands:
                assert strand[-2] == pytest.approx(middle, abs=0.02)
                assert strand[-1] == pytest.approx(number(key, "y"), abs=0.02)
            for square in of(group, "kv-fig-query"):
                centre = number(square, "x") + number(square, "width") / 2
                assert any(abs(centre - start) < 0.1 for start in starts)

    def test_says_counts_and_ratio(self) -> None:
        for svg in drawings(shared_heads(HEADS)).values():
            said = words(svg)
            for part in (
                "MHA: Phi-3-mini", "32 query heads, 32 K/V pairs", "1 : 1, cache in full",
                "GQA: Qwen2.5-7B", "28 query heads, 4 K/V pairs", "7 : 1, cache ÷ 7",
                "MQA: falcon-7b", "71 query heads, 1 K/V pair", "71 : 1, cache ÷ 71",
            ):  # fmt: skip
                assert part in said

    @pytest.mark.parametrize(
        ("scheme", "query", "kv", "says"),
        [
            ("GQA", 28, 5, "evenly"),
            ("GQA", 28, 0, "evenly"),
            ("MHA", 28, 4, "are GQA, not MHA"),
            ("GQA", 71, 1, "are MQA, not GQA"),
            ("GQA", 32, 32, "are MHA, not GQA"),
        ],
    )
    def test_refuses_counts_that_contradict(
        self, scheme: str, query: int, kv: int, says: str
    ) -> None:
        with pytest.raises(ValueError, match=says):
            Heads(scheme, "some", query, kv)

    def test_refuses_nothing_to_draw(self) -> None:
        with pytest.raises(ValueError, match="no heads"):
            shared_heads([])

    @settings(deadline=None, max_examples=60)
    @given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 140)), min_size=1, max_size=3))
    def test_any_model_fits_the_frame(self, counts: list[tuple[int, int]]) -> None:
        schemes = []
        for share, pairs in counts:
            scheme = "MQA" if pairs == 1 else "MHA" if share == 1 else "GQA"
            schemes.append(Heads(scheme, "model", share * pairs, pairs))
        for svg in drawings(shared_heads(schemes)).values():
            total = sum(one.query_heads for one in schemes)
            assert len(of(svg, "kv-fig-query")) == total
            assert misplaced(svg) == []
            width = float(svg.get("viewBox", "").split()[2])
            for square in of(svg, "kv-fig-query"):
                assert number(square, "x") + number(square, "width") <= width


class Scale:
    """Pixels to the reader's units, from the ticks alone."""

    def __init__(self, svg: ET.Element) -> None:
        axes = of(svg, "kv-fig-axes")[0]
        labels = {
            (
                round(number(one, "x"), 2),
                one.get("text-anchor", "start"),
                number(one, "y"),
            ): one.text
            for one in axes.iter(f"{SVG}text")
        }
        self.base = max(number(one, "y1") for one in axes.iter(f"{SVG}line"))
        across = {x: text for (x, anchor, _), text in labels.items() if anchor == "middle"}
        upright = {y: text for (_, anchor, y), text in labels.items() if anchor == "end"}
        self.unit = {"KiB": 1024, "MiB": MIB, "GiB": GIB}[
            next(text[-3:] for text in upright.values() if text and text.endswith("iB"))
        ]
        self.x = _line({x: self._read(text) for x, text in across.items()})
        self.y = _line(
            {y: self._read(text) for y, text in upright.items() if text not in ("GiB", "MiB")}
        )
        zero = next(y for y, text in upright.items() if text and text.split()[0] == "0")
        self.drop = zero - self._zero(axes)

    @staticmethod
    def _read(text: str | None) -> Fraction:
        return Fraction((text or "").split()[0].replace(",", ""))

    @staticmethod
    def _zero(axes: ET.Element) -> float:
        """The height of the level axis: what the label of 0 stands beside."""
        edges = [points(one) for one in axes.iter(f"{SVG}polyline")]
        if edges:
            return edges[0][1][1]
        return max(
            number(one, "y1") for one in axes.iter(f"{SVG}line") if one.get("y1") == one.get("y2")
        )

    def across(self, x: float) -> float:
        return self.x[0] + self.x[1] * x

    def bytes(self, y: float) -> float:
        return (self.y[0] + self.y[1] * (y + self.drop)) * self.unit


def _line(known: dict[float, Fraction]) -> tuple[float, float]:
    (p1, v1), (p2, v2) = min(known.items(), key=_value), max(known.items(), key=_value)
    slope = float(v2 - v1) / (p2 - p1)
    return float(v1) - slope * p1, slope


def _value(pair: tuple[float, Fraction]) -> Fraction:
    return pair[1]


def meeting(a: list[tuple[float, float]], b: list[tuple[float, float]]) -> tuple[float, float]:
    """Where the straight lines through two pairs of points meet."""
    (x1, y1), (x2, y2) = a
    (x3, y3), (x4, y4) = b
    part = (x1 - x2) * (y3 - y4) - (y1 - y2) * (x3 - x4)
    one, two = x1 * y2 - y1 * x2, x3 * y4 - y3 * x4
    return (
        (one * (x3 - x4) - (x1 - x2) * two) / part,
        (one * (y3 - y4) - (y1 - y2) * two) / part,
    )


def ends(line: ET.Element) -> list[tuple[float, float]]:
    return [(number(line, "x1"), number(line, "y1")), (number(line, "x2"), number(line, "y2"))]


@pytest.mark.parametrize("variant", ["wide", "narrow"])
class TestMemoryWedge:
    @pytest.mark.parametrize("name", sorted(set(WEDGES) - {"nobody"}))
    def test_crossing_lies_where_wedge_and_ceiling_meet(self, name: str, variant: str) -> None:
        svg = drawings(memory_wedge(WEDGES[name]))[variant]
        beyond = points(of(svg, "kv-fig-beyond-line")[0])
        wedge_line = [points(of(svg, "kv-fig-cache-line")[0])[0], beyond[1]]
        x, y = meeting(wedge_line, ends(of(svg, "kv-fig-ceiling")[0]))
        hit, drop = of(svg, "kv-fig-hit")[0], ends(of(svg, "kv-fig-drop")[0])
        assert (number(hit, "cx"), number(hit, "cy")) == pytest.approx((x, y), abs=0.15)
        assert drop[0] == pytest.approx((x, y), abs=0.15)
        assert drop[1][0] == pytest.approx(x, abs=0.15)

    @pytest.mark.parametrize("name", sorted(set(WEDGES) - {"nobody"}))
    def test_pixels_are_the_numbers(self, name: str, variant: str) -> None:
        f = WEDGES[name]
        svg = drawings(memory_wedge(f))[variant]
        scale = Scale(svg)
        flat = f.weights_bytes + f.other_bytes
        full = (f.memory_bytes - flat) / f.bytes_per_conversation
        even = f.weights_bytes / f.bytes_per_conversation
        top = scale.bytes(0)
        assert scale.bytes(ends(of(svg, "kv-fig-ceiling")[0])[0][1]) == pytest.approx(
            f.memory_bytes, abs=top / 2000
        )
        assert scale.bytes(ends(of(svg, "kv-fig-weights-line")[0])[0][1]) == pytest.approx(
            flat, abs=top / 2000
        )
        other = of(svg, "kv-fig-other")[0]
        assert scale.bytes(number(other, "y")) == pytest.approx(f.other_bytes, abs=top / 2000)
        end = points(of(svg, "kv-fig-beyond-line")[0])[1]
        assert scale.bytes(end[1]) == pytest.approx(
            flat + scale.across(end[0]) * f.bytes_per_conversation, abs=top / 1000
        )
        assert scale.across(number(of(svg, "kv-fig-drop")[0], "x1")) == pytest.approx(
            full, abs=full / 500 + 0.01
        )
        assert scale.across(number(of(svg, "kv-fig-even-drop")[0], "x1")) == pytest.approx(
            even, abs=max(full, even) / 500
        )

    @pytest.mark.parametrize("name", sorted(WEDGES))
    def test_at_the_second_mark_cache_and_weights_are_equally_high(
        self, name: str, variant: str
    ) -> None:
        svg = drawings(memory_wedge(WEDGES[name]))[variant]
        heights = []
        for cls in ("kv-fig-even-weights", "kv-fig-even-cache"):
            line = next(one for one in of(svg, cls) if one.get("x1") == one.get("x2"))
            heights.append(abs(number(line, "y1") - number(line, "y2")))
        assert heights[0] == pytest.approx(heights[1], abs=0.05)

    def test_the_axes_meet_at_nothing(self, variant: str) -> None:
        svg = drawings(memory_wedge(QWEN_7B))[variant]
        scale = Scale(svg)
        corner = points(of(svg, "kv-fig-axes")[0].findall(f"{SVG}polyline")[0])[1]
        assert scale.across(corner[0]) == pytest.approx(0, abs=0.05)
        assert points(of(svg, "kv-fig-cache-line")[0])[0][0] == corner[0]

    def test_prints_the_numbers(self, variant: str) -> None:
        said = " ".join(words(drawings(memory_wedge(QWEN_7B))[variant]))
        fit = "40 conversations fit" if variant == "wide" else "40 fit"
        more = "65: more cache than weights" if variant == "wide" else "65: cache > weights"
        for part in (
            fit, more, "RTX 4090: 23.99 GiB", "weights: 14.2 GiB", "other memory: 1 GiB",
            "224 MiB", "concurrent conversations of 4,096 tokens", "these wait",
        ):  # fmt: skip
            assert part in said

    @pytest.mark.parametrize("name", sorted(WEDGES))
    def test_words_keep_off_the_drop_lines(self, name: str, variant: str) -> None:
        svg = drawings(memory_wedge(WEDGES[name]))[variant]
        even = ("kv-fig-even-drop", "kv-fig-even-weights", "kv-fig-even-cache")
        uprights = [
            ends(one)
            for cls in ("kv-fig-drop", *even)
            for one in of(svg, cls)
            if one.get("x1") == one.get("x2")
        ]  # fmt: skip
        for text in svg.iter(f"{SVG}text"):
            left, top, right, low = box(text)
            for (x, y1), (_, y2) in uprights:
                apart = right < x or x < left or low < min(y1, y2) or max(y1, y2) < top
                assert apart, f"{text.text!r} on a line at x = {x}"

    def test_ticks_are_round_and_many_enough(self, variant: str) -> None:
        svg = drawings(memory_wedge(QWEN_7B))[variant]
        levels = [
            int(one.text or "0")
            for one in of(svg, "kv-fig-axes")[0].iter(f"{SVG}text")
            if one.get("text-anchor") == "end" and one.text != "GiB"
        ]
        assert levels == ([0, 5, 10, 15, 20, 25, 30] if variant == "wide" else [0, 10, 20, 30])


SIZES = st.integers(5, 2000)


class TestWedgeNumbers:
    def test_of_the_article(self) -> None:
        assert QWEN_7B.users_max == 40
        assert QWEN_7B.outweighs_from == 65
        small = WEDGES["thin-weights"]
        assert small.outweighs_from == 20

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"memory_bytes": 10 * GIB}, "does not fit on RTX 4090"),
            ({"bytes_per_conversation": 0}, "must be positive"),
            ({"other_bytes": -1}, "must be positive"),
        ],
    )
    def test_refuses_numbers_that_contradict(self, change: dict[str, int], says: str) -> None:
        with pytest.raises(ValueError, match=says):
            Wedge(**{**QWEN_7B.__dict__, **change})

    @settings(deadline=None, max_examples=60)
    @given(weights=SIZES, each=SIZES, free=st.integers(0, 4000), other=st.integers(0, 300))
    def test_any_model_on_any_card_is_drawn_inside_its_frame(
        self, weights: int, each: int, free: int, other: int
    ) -> None:
        unit = 100 * MIB
        f = Wedge(
            "model", weights * unit, each * unit, 4096, (weights + other + free) * unit, "a card",
            other * unit,
        )  # fmt: skip
        for svg in drawings(memory_wedge(f)).values():
            _, _, width, height = map(float, svg.get("viewBox", "").split())
            for text in svg.iter(f"{SVG}text"):
                left, top, right, low = box(text)
                assert left >= -1
                assert right <= width + 1
                assert top >= -1
                assert low <= height + 1


@pytest.mark.parametrize("variant", ["wide", "narrow"])
class TestGrowth:
    def test_lines_go_through_their_points(self, variant: str) -> None:
        svg = drawings(growth(CURVES))[variant]
        scale = Scale(svg)
        drawn = of(of(svg, "kv-fig-curves")[0], "kv-fig-curve")
        ranked = sorted(CURVES, key=lambda one: one.points[-1][1], reverse=True)
        assert len(drawn) == len(CURVES)
        for line, curve in zip(drawn, ranked, strict=True):
            for (x, y), (tokens, count) in zip(points(line), curve.points, strict=True):
                assert scale.across(x) == pytest.approx(tokens, abs=16_384 / 1000)
                assert scale.bytes(y) == pytest.approx(count, abs=2 * GIB / 1000)

    def test_the_axes_meet_at_nothing(self, variant: str) -> None:
        svg = drawings(growth(CURVES))[variant]
        scale = Scale(svg)
        axis = next(ends(one) for one in of(svg, "kv-fig-axis") if one.get("y1") == one.get("y2"))
        assert scale.across(axis[0][0]) == pytest.approx(0, abs=16)
        assert scale.across(axis[1][0]) == pytest.approx(16_384, abs=16)
        assert scale.bytes(axis[0][1]) == pytest.approx(0, abs=2 * GIB / 1000)

    def test_bends_are_marked_where_the_price_changes(self, variant: str) -> None:
        svg = drawings(growth(CURVES))[variant]
        scale = Scale(svg)
        bends = sorted(round(scale.across(number(one, "cx"))) for one in of(svg, "kv-fig-bend"))
        assert bends == [pytest.approx(1024, abs=20), pytest.approx(4096, abs=20)]

    def test_names_are_beside_the_right_curves(self, variant: str) -> None:
        said = [word for word in words(drawings(growth(CURVES))[variant]) if "-" in word]
        assert said == ["Llama-3.1-8B", "DeepSeek-V3", "Mistral-7B-v0.1", "gemma-3-4b"]

    def test_six_curves_with_long_notes_have_room(self, variant: str) -> None:
        note = "a note that says in many words how this one grows"
        curves = [Curve(f"model-{i}", note, ((0, 0), (64, 1000 + i))) for i in range(6)]
        assert misplaced(drawings(growth(curves))[variant]) == []


def test_growth_refuses_what_it_cannot_draw() -> None:
    straight = Curve("one", "note", ((0, 0), (8, 8)))
    with pytest.raises(ValueError, match="7 curves"):
        growth([straight] * 7)
    with pytest.raises(ValueError, match="0 curves"):
        growth([])
    with pytest.raises(ValueError, match="above 0"):
        growth([Curve("none", "note", ((0, 0), (8, 0)))])
    for bad in (((0, 0),), ((0, 0), (0, 1)), ((0, 2), (1, 1)), ((-1, 0), (1, 1))):
        with pytest.raises(ValueError, match="bad"):
            Curve("bad", "note", bad)


@pytest.mark.parametrize("variant", ["wide", "narrow"])
class TestLengths:
    def test_bars_are_as_high_as_their_counts(self, variant: str) -> None:
        svg = drawings(lengths(LOG))[variant]
        bars = of(svg, "kv-fig-bar")
        assert len(bars) == len(LOG.bins)
        unit = number(bars[2], "height") / 400
        for bar, (_, _, count) in zip(bars, LOG.bins, strict=True):
            assert number(bar, "height") == pytest.approx(count * unit, abs=0.02)

    def test_marks_stand_where_the_axis_says(self, variant: str) -> None:
        """p99 at 260 is in the bin of 256 to 383, near its beginning; the limit is on a label."""
        svg = drawings(lengths(LOG))[variant]
        limit, p99, half = (number(one, "x1") for one in of(svg, "kv-fig-mark"))
        bars = of(svg, "kv-fig-bar")
        left = [number(bar, "x") - 1 for bar in bars]
        assert left[2] < half < left[3]
        assert p99 == pytest.approx(left[4] + (left[5] - left[4]) * 4 / 128, abs=0.05)
        ticks = {one.text: number(one, "x") for one in svg.iter(f"{SVG}text")}
        assert limit == pytest.approx(left[0] + (left[1] - left[0]) * 14, abs=0.1)
        assert ticks["64"] == pytest.approx(left[0], abs=0.05)

    def test_names_keep_off_the_marks(self, variant: str) -> None:
        svg = drawings(lengths(LOG))[variant]
        marks = [ends(one) for one in of(svg, "kv-fig-mark")]
        for name in of(svg, "kv-fig-bold"):
            left, top, right, low = box(name)
            for (x, y1), (_, y2) in marks:
                assert right < x or x < left or low < y1 or y2 < top, name.text


@pytest.mark.parametrize("variant", ["wide", "narrow"])
def test_places_are_as_wide_as_their_blocks(variant: str) -> None:
    svg = drawings(shared_pool(SHARES, 300))[variant]
    for row, way in zip(of(svg, "kv-fig-row"), SHARES, strict=True):
        pool = of(row, "kv-fig-pool")[0]
        scale = number(pool, "width") / 300
        held = [number(one, "width") / scale for one in of(row, "kv-fig-bar")]
        assert held == pytest.approx([held for _, held in way.places], abs=0.05)
        seats = [(number(one, "x1") - number(pool, "x")) / scale for one in of(row, "kv-fig-seat")]
        assert seats == pytest.approx(
            list(itertools.accumulate(r for r, _ in way.places)), abs=0.05
        )


def test_lengths_and_pools_that_contradict_are_refused() -> None:
    with pytest.raises(ValueError, match="gaps"):
        Lengths(((1, 1, 5), (3, 3, 5)), ())
    with pytest.raises(ValueError, match="without a request"):
        Lengths(((1, 1, 0),), ())
    with pytest.raises(ValueError, match="marks"):
        Lengths(((1, 1, 5),), (("far", 10**9),))
    with pytest.raises(ValueError, match="more held"):
        Share("a", "b", ((1, 2),))
    with pytest.raises(ValueError, match="needs more"):
        shared_pool(SHARES, 50)
    with pytest.raises(ValueError, match="no way"):
        shared_pool([], 50)
