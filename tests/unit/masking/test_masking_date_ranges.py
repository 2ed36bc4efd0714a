"""Ranges of time: what the edges may be, and that days which come later have their range."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pytest

from aegis.data.kind import Kind
from aegis.errors import MaskError
from aegis.masking.masks.date_ranges import DateRanges


def test_days_that_yaml_read_and_days_in_quotes_are_the_same_edges() -> None:
    assert DateRanges(edges=(date(2017, 6, 21),)) == DateRanges(edges=("2017-06-21",))  # type: ignore[arg-type]
    assert DateRanges(edges=(datetime(2017, 6, 21),)).parameters() == {"edges": ["2017-06-21"]}  # type: ignore[arg-type]


def test_a_day_that_comes_later_has_its_range() -> None:
    later = np.array(["1999-01-01", "2031-01-01"], dtype="M8[D]")
    assert DateRanges(edges=("2017-06-21",)).on_values(later).tolist() == ["(-inf, 2017-06-21)", "[2017-06-21, inf)"]


def test_a_time_lies_in_the_range_of_its_moment() -> None:
    mask = DateRanges(edges=("2017-06-21 08:30",))
    times = np.array(["2017-06-21T08:29:59.999999", "2017-06-21T08:30"], dtype="M8[us]")
    assert mask.on_values(times).tolist() == ["(-inf, 2017-06-21 08:30:00)", "[2017-06-21 08:30:00, inf)"]


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ((), "a list of 1 to"),
        (("soon",), "must be a day or a time"),
        ((2017,), "must be a day or a time"),
        (("2017-06-21T08:00+02:00",), "must be a day or a time"),
        (("2017-02-30",), "no calendar has"),
        (("2018-01-01", "2017-01-01"), "must rise"),
        (("2017-01-01", "2017-01-01 00:00"), "must rise"),
    ],
)
def test_edges_that_are_no_days_or_do_not_rise_are_refused(edges: tuple[Any, ...], words: str) -> None:
    with pytest.raises(MaskError, match=words):
        DateRanges(edges=edges)


def test_days_are_not_divided_at_an_hour() -> None:
    with pytest.raises(MaskError, match="edges are days too"):
        DateRanges(edges=("2017-06-21 08:30",)).check(Kind.DATE, column="since")
