"""Claims, verdicts and figures of a reproduction, and the page made of them."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aegis.errors import InputError
from aegis_papers.page import render_reproduction
from aegis_papers.reproduction import (
    Between,
    Claim,
    LineFigure,
    RangeFigure,
    RangeRow,
    Reproduction,
    Section,
    Series,
    TableFigure,
    Verdict,
    judged,
)

finite = st.floats(-1e6, 1e6)


@given(paper=finite, ours=finite, tolerance=st.floats(0, 1e3))
def test_the_same_is_symmetric_and_better_has_one_side(paper: float, ours: float, tolerance: float) -> None:
    def verdict(a: float, b: float, better: str | None) -> Verdict:
        return judged(what="x", source="Fig. 1", paper=a, ours=b, tolerance=tolerance, better=better).verdict  # type: ignore[arg-type]

    assert (verdict(paper, ours, None) is Verdict.SAME) == (verdict(ours, paper, None) is Verdict.SAME)
    both = {verdict(paper, ours, "higher"), verdict(paper, ours, "lower")}
    assert both in ({Verdict.SAME}, {Verdict.BETTER, Verdict.DIFFERENT})


@given(low=finite, width=st.floats(0, 1e3), share=st.floats(0, 1))
def test_inside_a_range_is_the_same(low: float, width: float, share: float) -> None:
    inside = min(max(low + share * width, low), low + width)
    assert judged(what="x", source="s", paper=Between(low=low, high=low + width), ours=inside).verdict is Verdict.SAME


@pytest.mark.parametrize(
    ("paper", "ours", "better", "verdict"),
    [
        (Between(high=0.55), 0.2, "lower", Verdict.SAME),
        (Between(high=0.55), 0.7, "lower", Verdict.DIFFERENT),
        (Between(low=400), 3.0, "lower", Verdict.BETTER),
        (Between(low=0.4, high=0.5), 0.2, "lower", Verdict.BETTER),
        (Between(low=0.4, high=0.5), 0.2, "higher", Verdict.DIFFERENT),
        (0.5, math.nan, None, Verdict.NOT_COMPARABLE),
    ],
)
def test_verdicts(paper: float | Between, ours: float, better: str | None, verdict: Verdict) -> None:
    assert judged(what="x", source="s", paper=paper, ours=ours, better=better).verdict is verdict  # type: ignore[arg-type]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError):
        Between()
    with pytest.raises(InputError):
        Between(low=2, high=1)
    with pytest.raises(InputError):
        Series(name="a", x=(1.0, 2.0), y=(1.0,))
    with pytest.raises(InputError):
        TableFigure(title="t", columns=("a", "b"), rows=(("x",),))


def _reproduction() -> Reproduction:
    return Reproduction(
        paper="A paper <1>",
        title="A title",
        choices={"splits": "four"},
        sections=(
            Section(
                title="Fig. 1",
                text="First paragraph.\n\nSecond & last.",
                claims=(
                    judged(what="median", source="Fig. 1", paper=Between(low=0.4, high=0.5), ours=0.45, why="because"),
                    Claim(what="time", source="§5", paper="fast", ours=None, verdict=Verdict.NOT_COMPARABLE),
                ),
                figures=(
                    LineFigure(
                        title="lines",
                        x_axis="x",
                        y_axis="y",
                        series=(Series(name="a", x=(1.0, 10.0), y=(0.0, 2.0), band=((0.0, 1.0), (1.0, 3.0))),),
                        log_x=True,
                        log_y=True,
                    ),
                    RangeFigure(title="ranges", axis="v", rows=(RangeRow(label="r", value=1, low=0, high=2),)),
                    TableFigure(
                        title="table",
                        columns=("name", "value"),
                        rows=(("a", 1.5), ("b", Between(high=2.0)), ("c", math.nan)),
                    ),
                ),
            ),
        ),
    )


def test_json_is_plain() -> None:
    done = _reproduction()
    text = json.dumps(done.to_json(), allow_nan=False)
    again = json.loads(text)
    assert again["verdicts"] == {"same": 1, "better": 0, "different": 0, "not comparable": 1}
    claims = again["sections"][0]["claims"]
    assert claims[0]["paper"] == [0.4, 0.5]
    assert claims[1]["paper"] == "fast"
    table = again["sections"][0]["figures"][2]
    assert table["rows"] == [["a", 1.5], ["b", [None, 2.0]], ["c", None]]
    assert again["sections"][0]["figures"][0]["kind"] == "lines"


def test_results_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        _reproduction().sections[0].claims[0].ours = 1.0  # type: ignore[misc]


def test_the_page_shows_both_values_and_the_reason() -> None:
    page = render_reproduction(_reproduction(), version="1")
    assert "A paper &lt;1&gt;" in page
    assert "0.4 to 0.5" in page
    assert "0.45" in page
    assert "because" in page
    assert "Second &amp; last." in page
    assert page.count("<svg") == 2
    assert "below 2" in page
    assert "nan" not in page.lower().replace("nanum", "")
    assert "quick run" not in page
