"""Each chart is well-formed, can be read aloud, refers to nothing, and draws what it was given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aegis.report
from aegis.errors import InputError
from aegis.report.attribute_cards import share_strip
from aegis.report.charts.bars import Bar, Tick, paired_bars
from aegis.report.charts.curves import Curve, Point, curves, front, marker, scatter
from aegis.report.charts.heat_map import heat_map, shade
from aegis.report.charts.interval_plot import IntervalRow, interval_plot

NAN = float("nan")
LONG = "a name that is much longer than any chart has room for, really & <truly>"
STYLE = (Path(aegis.report.__path__[0]) / "templates" / "style.css").read_text(encoding="utf-8")


def rows(size: int) -> list[IntervalRow]:
    return [
        IntervalRow(label=LONG if i == 0 else f"c{i}", value=i / 7, low=i / 7 - 0.1, high=i / 7 + 0.2, marked=i < 2)
        for i in range(size)
    ]


def pictures() -> Iterator[tuple[str, str]]:
    for size in (0, 1, 30):
        yield f"interval {size}", interval_plot(rows(size), title=LONG, axis=LONG, note_heading="kept", guide=0.0)
    unknown = IntervalRow(label="x", value=NAN, low=NAN, high=NAN)
    yield "interval unknown", interval_plot([unknown], title="t", axis="a")
    yield "heat empty", heat_map([], rows=[], columns=[], title="t", legend="l")
    yield "heat missing", heat_map([[None, NAN]], rows=[LONG], columns=["a", LONG], title="t", legend="l")
    wide = [[(i - j) / 10 for j in range(40)] for i in range(30)]
    yield "heat wide", heat_map(wide, rows=["r"] * 30, columns=[LONG] * 40, title="t", legend="l")
    yield "heat cool", heat_map([[0.0, 2e7]], rows=["r"], columns=["a", "b"], title="t", legend="l", cool=True)
    bars = [Bar(left=0, right=1, share=0.25, name=LONG), Bar(left=1, right=3, share=0.75, name="b", merged=True)]
    yield "pair", paired_bars(bars, bars, ticks=[Tick(at=0.5, text=LONG, room=1)], title="t")
    yield "pair lower", paired_bars([], bars, ticks=[], title="t")
    yield "pair empty", paired_bars([], [], ticks=[], title="t")
    line = Curve(name=LONG, x=(0.0, 1.0, 2.0), y=(1.0, NAN, 3.0), band=((0.5, 1.5), (NAN, NAN), (2, 4)), dots=True)
    yield "curves", curves([line] * 8, title="t", x_axis="x", y_axis="y")
    yield "curves none", curves([], title="t", x_axis="x", y_axis="y")
    points = [Point(label=LONG, x=1, y=2, chosen=True), Point(label="b", x=2, y=NAN), Point(label="c", x=0, y=5)]
    for better in (True, False):
        yield (
            f"scatter {better}",
            scatter(points, title="t", x_axis="x", y_axis="y", more_x_is_better=better, more_y_is_better=True),
        )
    yield "scatter none", scatter([], title="t", x_axis="x", y_axis="y", more_x_is_better=True, more_y_is_better=True)
    yield "strip", share_strip([0.2] * 4, rest=0.2, title="t")
    yield "strip many", share_strip([1 / 500] * 500, title="t")
    yield "strip empty", share_strip([], title="t")


PICTURES = dict(pictures())


@pytest.mark.parametrize("name", PICTURES)
def test_every_chart_is_a_readable_picture_without_references(name: str) -> None:
    text = PICTURES[name]
    root = ElementTree.fromstring(text)
    assert root.tag == "svg"
    assert root.get("role") == "img"
    assert [root[0].tag, root[1].tag] == ["title", "desc"]
    assert root[0].text
    assert root[1].text
    for element in root.iter():
        assert element.tag in {"svg", "title", "desc", "line", "rect", "circle", "path", "text"}
        assert not {"id", "style", "href", "fill", "stroke"} & set(element.attrib)
    assert "nan" not in re.sub(r"<(title|desc)>.*?</\1>", "", text)
    assert "inf" not in re.sub(r">[^<]*<", "><", text)


@pytest.mark.parametrize("name", PICTURES)
def test_every_class_has_a_style(name: str) -> None:
    used = {word for names in re.findall(r'class="([^"]*)"', PICTURES[name]) for word in names.split()}
    assert {word for word in used if not re.search(rf"\.{word}(?![\w-])", STYLE)} == set()


@pytest.mark.parametrize("name", PICTURES)
def test_marks_stay_inside_the_picture(name: str) -> None:
    root = ElementTree.fromstring(PICTURES[name])
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for element in root.iter("rect"):
        x, y = float(element.get("x", 0)), float(element.get("y", 0))
        assert -0.11 <= x <= x + float(element.get("width", 0)) <= width + 0.11
        assert -0.11 <= y <= y + float(element.get("height", 0)) <= height + 0.11
    for element in root.iter("circle"):
        assert 0 <= float(element.get("cx", 0)) <= width
        assert 0 <= float(element.get("cy", 0)) <= height


def test_one_dot_per_row_and_full_ones_for_the_marked() -> None:
    text = interval_plot(rows(9), title="t", axis="a")
    assert text.count("<circle") == 9
    assert text.count('class="dot best"') == 2


def test_the_guide_stays_left_of_the_notes() -> None:
    """A line beyond every interval is in the picture's scale, not across what stands at the right."""
    row = IntervalRow(label="strict", value=43.7, low=41, high=46, note="74.2 %", marked=True)
    picture = interval_plot([row], title="t", axis="a", note_heading="kept", guide=60.0)
    guide = re.search(r'<line class="guide" x1="([\d.]+)"', picture)
    axis = re.search(r'<line class="axis" x1="[\d.]+" y1="[\d.]+" x2="([\d.]+)"', picture)
    assert guide is not None
    assert axis is not None
    assert float(guide[1]) < float(axis[1])


def test_a_heat_map_prints_its_numbers_and_hatches_what_is_missing() -> None:
    text = heat_map([[0.5, None], [0.125, 0.0]], rows=["r", "s"], columns=["a", "b"], title="t", legend="l")
    assert ">.500<" in text
    assert ">.125<" in text
    assert 'class="absent"' in text
    assert ">not known<" in text
    assert ">not known<" not in heat_map([[0.5]], rows=["r"], columns=["a"], title="t", legend="l")


def test_a_heat_map_diverges_only_where_something_is_negative() -> None:
    assert 'm8"' not in heat_map([[0.5, 0.1]], rows=["r"], columns=["a", "b"], title="t", legend="l")
    assert 'm8"' in heat_map([[0.5, -0.1]], rows=["r"], columns=["a", "b"], title="t", legend="l")


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_larger_losses_are_never_paler(a: float, b: float) -> None:
    def level(value: float) -> int:
        name = shade(value, 1.0)
        return -int(name[1:]) if name[0] == "m" else int(name[1:])

    assert (level(a) <= level(b)) if a <= b else (level(a) >= level(b))


def test_area_is_the_share_of_records() -> None:
    bars = [Bar(left=0, right=1, share=0.25), Bar(left=1, right=4, share=0.75)]
    root = ElementTree.fromstring(paired_bars(bars, [], ticks=[], title="t", width=400))
    areas = [float(r.get("width", 0)) * float(r.get("height", 0)) for r in root.iter("rect")]
    assert areas[1] / areas[0] == pytest.approx(3, rel=0.05)


def test_markers_of_series_differ() -> None:
    assert len({marker(10, 10, series) for series in range(6)}) == 6


def test_a_curve_of_uneven_lengths_is_refused() -> None:
    with pytest.raises(InputError, match="different lengths"):
        Curve(name="a", x=(1.0,), y=(1.0, 2.0))


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=25), st.booleans(), st.booleans())
def test_the_front_is_exactly_what_nothing_beats(at: list[tuple[int, int]], more_x: bool, more_y: bool) -> None:
    points = [Point(label=str(i), x=x, y=y) for i, (x, y) in enumerate(at)]
    sx, sy = (1 if more_x else -1), (1 if more_y else -1)

    def beaten(p: Point) -> bool:
        return any(
            sx * q.x >= sx * p.x and sy * q.y >= sy * p.y and (sx * q.x > sx * p.x or sy * q.y > sy * p.y)
            for q in points
        )

    found = {p.label for p in front(points, more_x_is_better=more_x, more_y_is_better=more_y)}
    assert found == {p.label for p in points if not beaten(p)}
