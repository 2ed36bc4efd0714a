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
    Significance,
    TableFigure,
    Verdict,
    incomparable,
    judged,
)

finite = st.floats(-1e6, 1e6)


@given(printed=finite, repeated=finite, tolerance=st.floats(0, 1e3))
def test_the_same_is_symmetric(printed: float, repeated: float, tolerance: float) -> None:
    def verdict(a: float, b: float) -> Verdict:
        return judged(what="x", source="Fig. 1", printed=a, as_printed=b, tolerance=tolerance).verdict

    assert (verdict(printed, repeated) is Verdict.SAME) == (verdict(repeated, printed) is Verdict.SAME)


@given(low=finite, width=st.floats(0, 1e3), share=st.floats(0, 1))
def test_inside_a_range_is_the_same(low: float, width: float, share: float) -> None:
    inside = min(max(low + share * width, low), low + width)
    given_range = Between(low=low, high=low + width)
    assert judged(what="x", source="s", printed=given_range, as_printed=inside).verdict is Verdict.SAME
    # and so is a printed value in the spread of a random recipe
    assert judged(what="x", source="s", printed=inside, as_printed=1e9, spread=given_range).verdict is Verdict.SAME


@pytest.mark.parametrize(
    ("printed", "repeated", "verdict"),
    [
        (Between(high=0.55), 0.2, Verdict.SAME),
        (Between(high=0.55), 0.7, Verdict.DIFFERENT),
        (Between(low=400), 3.0, Verdict.DIFFERENT),
        (0.5, 0.6, Verdict.DIFFERENT),
        (0.5, None, Verdict.NOT_COMPARABLE),
        (0.5, math.nan, Verdict.NOT_COMPARABLE),
    ],
)
def test_verdicts(printed: float | Between, repeated: float | None, verdict: Verdict) -> None:
    assert judged(what="x", source="s", printed=printed, as_printed=repeated).verdict is verdict


def test_ours_never_changes_the_verdict() -> None:
    """However good the product is: the verdict is about the paper's recipe alone."""
    sure = Significance(name="rank", p=0.001)
    for repeated, verdict in ((0.5, Verdict.SAME), (0.9, Verdict.DIFFERENT), (None, Verdict.NOT_COMPARABLE)):
        claim = judged(what="x", source="s", printed=0.5, as_printed=repeated, ours=0.0, test=sure)
        assert claim.verdict is verdict
        assert claim.better


@pytest.mark.parametrize(("p", "better"), [(0.049, True), (0.05, False), (1.0, False)])
def test_better_is_said_with_a_test_only(p: float, better: bool) -> None:
    assert not judged(what="x", source="s", printed=0.5, as_printed=0.5, ours=0.0).better
    tested = judged(what="x", source="s", printed=0.5, as_printed=0.5, ours=0.0, test=Significance(name="rank", p=p))
    assert tested.better is better


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError):
        Between()
    with pytest.raises(InputError):
        Between(low=2, high=1)
    with pytest.raises(InputError, match="without a value by the paper's recipe"):
        Claim(what="x", source="s", printed=1.0, as_printed=None, verdict=Verdict.SAME)
    with pytest.raises(InputError, match="without a value of ours"):
        judged(what="x", source="s", printed=1.0, as_printed=1.0, test=Significance(name="rank", p=0.01))
    with pytest.raises(InputError):
        Significance(name="rank", p=1.5)
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
                command="aegis reproduce made-up",
                cpu_seconds=2.0,
                claims=(
                    judged(
                        what="median",
                        source="Fig. 1",
                        printed=Between(low=0.4, high=0.5),
                        as_printed=0.45,
                        ours=0.31,
                        test=Significance(name="rank", p=0.01),
                        why="because",
                    ),
                    Claim(what="time", source="§5", printed="fast", as_printed=None, verdict=Verdict.NOT_COMPARABLE),
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
    assert again["verdicts"] == {"same": 1, "different": 0, "not comparable": 1}  # every claim is counted once
    assert (again["comparable"], again["same_share"], again["better"]) == (1, 1.0, 1)
    section = again["sections"][0]
    assert section["summary"] == {"same": 1, "different": 0, "not comparable": 1, "better": 1}
    assert section["command"] == "aegis reproduce made-up"
    claims = section["claims"]
    assert claims[0]["printed"] == [0.4, 0.5]
    assert (claims[0]["as_printed"], claims[0]["ours"], claims[0]["better"]) == (0.45, 0.31, True)
    assert claims[0]["test"] == {"name": "rank", "p": 0.01}
    assert claims[1]["printed"] == "fast"
    table = again["sections"][0]["figures"][2]
    assert table["rows"] == [["a", 1.5], ["b", [None, 2.0]], ["c", None]]
    assert again["sections"][0]["figures"][0]["kind"] == "lines"


def test_results_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        _reproduction().sections[0].claims[0].ours = 1.0  # type: ignore[misc]


def test_the_page_shows_all_three_values_and_the_reason() -> None:
    page = render_reproduction(_reproduction(), version="1")
    assert "1 of 1 comparable values are as printed (100 %)" in page
    assert "0.31" in page
    assert "better: rank, p = 0.01" in page
    assert "<code>aegis reproduce made-up</code>" in page
    assert "A paper &lt;1&gt;" in page
    assert "0.4 to 0.5" in page
    assert "0.45" in page
    assert "because" in page
    assert "Second &amp; last." in page
    assert page.count("<svg") == 2
    assert "below 2" in page
    assert "nan" not in page.lower().replace("nanum", "")
    assert "quick run" not in page


def test_a_quick_section_claims_nothing() -> None:
    quick = incomparable(_reproduction().sections[0], why="small")
    assert {claim.verdict for claim in quick.claims} == {Verdict.NOT_COMPARABLE}
    assert not any(claim.better for claim in quick.claims)
    assert {claim.why for claim in quick.claims} == {"small"}
