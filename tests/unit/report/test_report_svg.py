"""Whatever text goes into a picture comes out as text, and positions and ticks are what they say."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aegis.report import figures
from aegis.report.svg import Linear, Svg, clean, nice_step, num, shorten, text_width, tick_text, ticks

texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=40)


@given(texts, texts, texts)
def test_any_text_is_escaped(title: str, label: str, tip: str) -> None:
    picture = Svg(100, 50, title=title, description=label)
    picture.text(1, 2, label)
    picture.rect(0, 0, 1, 1, "bar", tip=tip)
    root = ElementTree.fromstring(picture.markup())
    assert [child.tag for child in root] == ["title", "desc", "text", "rect"]
    assert (root[0].text or "") == title
    assert (root[2].text or "") == label
    assert (root[3][0].text or "") == tip


def test_control_characters_never_reach_the_markup() -> None:
    assert clean("a\x00b\x1bc\x85d") == "abcd"


@given(st.text(max_size=60), st.floats(20, 400))
def test_short_text_fits_and_long_text_keeps_both_ends(text: str, room: float) -> None:
    short = shorten(text, room)
    assert text_width(short) <= max(room, 3 * 12 * 0.56 + 1e-9)
    assert short == text or (short[0] == text[0] and "…" in short)


def test_shortened_text_keeps_the_whole_in_its_title() -> None:
    picture = Svg(10, 10, title="t", description="d")
    picture.text(0, 0, "a-very-long-name-of-a-configuration", room=60)
    text = ElementTree.fromstring(picture.markup())[2]
    assert text[0].text == "a-very-long-name-of-a-configuration"
    assert "…" in (text[0].tail or "")


@given(st.floats(-1e6, 1e6))
def test_coordinates_are_short_and_near(value: float) -> None:
    assert abs(float(num(value)) - value) <= 0.0500001
    assert num(value) != "-0"


@given(st.floats(1e-6, 1e9), st.integers(2, 40), st.booleans())
def test_a_nice_step_is_large_enough_and_not_wasteful(span: float, most: int, whole: bool) -> None:
    step = nice_step(span, most, whole=whole)
    assert span / step <= most * (1 + 1e-6)
    assert step <= max(2.6 * span / most, 1.0 if whole else 0.0) or (whole and step <= 5 * max(span / most, 1))
    assert not whole or step == round(step)


@given(st.floats(-1e5, 1e5), st.floats(1e-3, 1e5))
def test_ticks_lie_inside_and_are_few(low: float, span: float) -> None:
    found = ticks(low, low + span, 6)
    assert 1 <= len(found) <= 7
    assert all(low - 1e-6 * span - 1e-9 <= tick <= low + span + 1e-6 * span + 1e-9 for tick in found)
    assert len({tick_text(tick) for tick in found}) == len(found) or span < 1e-4 * abs(low)


def test_a_scale_of_equal_or_no_values_still_works() -> None:
    for values in ([], [3.0], [0.0, 0.0], [float("nan"), 2.0]):
        scale = Linear.covering(values, start=0, end=100)
        assert scale.low < scale.high
        assert all(0 <= scale(value) <= 100 for value in values if value == value)


@pytest.mark.parametrize(
    ("names", "said"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (list("abcde"), "a, b, c, d and 1 more")]
)
def test_lists_in_sentences(names: list[str], said: str) -> None:
    assert figures.listed(names) == said


def test_figures_at_the_edges() -> None:
    assert figures.figure(float("inf")) == "∞"
    assert figures.figure(float("nan")) == "–"
    assert figures.figure(1e-17) == "0"
    assert figures.percent(float("nan")) == "–"
    assert figures.percent(-0.05).startswith("−5.0")
