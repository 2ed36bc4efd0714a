"""No rare value is ever named, nothing gets lost between the bars, and groups stand under what they swallowed."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aegis.counts.disclosure_rule import FEWEST
from aegis.counts.summary import Level, Summary, reduced
from aegis.data.kind import Kind
from aegis.report.distribution import distribution, pooled
from aegis.report.drawn_columns import MOST_BARS, Distribution, value_counts

Bench = Any  # the class of that name in conftest.py, which cannot be imported

TEXT_MASKS: list[Any] = [
    "identity",
    "suppress",
    "nullify",
    "token",
    "shuffle",
    {"randomize": {"keep": 0.3}},
    {"star_trailing": {"characters": 1}},
    [{"randomize": {"keep": 0.3}}, {"star_trailing": {"characters": 1}}],
]
NUMBER_MASKS: list[Any] = [
    "identity",
    "suppress",
    "nullify",
    "token",
    "shuffle",
    {"bucketize": {"width": 7}},
    {"bucketize": {"quantiles": 3}},
    {"round": {"step": 10}},
    {"top_code": {"at": 20}},
    {"star_digits": {"digits": 1}},
    {"randomize": {"keep": 0.3}},
    {"add_laplace_noise": {"scale": 2, "step": 1}},
    [{"add_laplace_noise": {"scale": 2, "step": 1}}, {"bucketize": {"width": 5}}],
]
relaxed = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def summary_of(bench: Bench, kind: Kind, values: list[Any], masks: list[Any]) -> Summary:
    label = ["yes" if i % 3 else "no" for i in range(len(values))]
    return bench.summary({"a": (kind, values)}, label, {f"c{i}": {"a": mask} for i, mask in enumerate(masks)})


def drawn(summary: Summary) -> list[Distribution]:
    attribute = summary.attributes["a"]
    return [distribution(attribute, masked, named_from=summary.named_from) for masked in attribute.masked.values()]


def told(summary: Summary) -> list[Summary]:
    """The same at every level."""
    return [
        summary,
        reduced(summary, level=Level.ONE_D),
        reduced(summary, level=Level.ONE_D, ranges=4),
        reduced(summary, level=Level.NONE),
        reduced(summary, level=Level.NONE, opaque=True),
    ]


def check(one: Distribution, *, records: int) -> None:
    for bars in (one.upper, one.lower):
        assert len(bars) <= 2 * MOST_BARS + 4
        assert all(bar.right > bar.left and bar.share >= 0 for bar in bars)
        spans = sorted((bar.left, bar.right) for bar in bars)
        assert all(b <= c + 1e-9 for (_, b), (c, _) in itertools.pairwise(spans)), "bars overlap"
        # What cannot be shown without showing single records is left out, never more than that.
        assert 1 - (2 * FEWEST - 1) / records - 1e-9 <= sum(bar.share for bar in bars) <= 1 + 1e-9 or not bars


@given(st.dictionaries(st.text("abcde", min_size=1, max_size=3), st.integers(1, 30), min_size=1, max_size=60))
@relaxed
def test_rare_texts_are_never_named(bench: Bench, counts: dict[str, int]) -> None:
    values = [f"<{value}>" for value, times in counts.items() for _ in range(times)]
    rare = {f"<{value}>" for value, times in counts.items() if times < FEWEST}
    for summary in told(summary_of(bench, Kind.TEXT, values, TEXT_MASKS)):
        for one in drawn(summary):
            check(one, records=len(values))
            named = {bar.name for bar in (*one.upper, *one.lower)} | {tick.text for tick in one.ticks}
            assert not named & rare


@given(st.dictionaries(st.integers(-50, 400), st.integers(1, 12), min_size=1, max_size=80))
@relaxed
def test_numbers_are_drawn_in_bins_that_no_single_record_fills(bench: Bench, counts: dict[int, int]) -> None:
    values = [value for value, times in counts.items() for _ in range(times)]
    rare = {str(value) for value, times in counts.items() if times < FEWEST}
    for summary in told(summary_of(bench, Kind.INTEGER, values, NUMBER_MASKS)):
        for one in drawn(summary):
            check(one, records=len(values))
            named = {bar.name for bar in (*one.upper, *one.lower)}
            # Where only ranges are told nobody can know which of the masked numbers is rare in the original.
            assert value_counts(summary.attributes["a"]) is None or not named & rare
            for bar in one.upper:
                assert bar.share == 0 or bar.share * len(values) >= FEWEST - 1e-6


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40))
def test_pooled_bins_are_empty_or_full_enough(counts: list[int]) -> None:
    edges = np.arange(len(counts) + 1.0)
    bins = pooled(edges, np.array(counts, dtype=np.float64))
    assert all(n == 0 or n >= FEWEST for _, _, n in bins)
    assert sum(n for _, _, n in bins) == (sum(counts) if sum(counts) >= FEWEST else 0)


def test_a_bucket_lies_under_its_values(bench: Bench) -> None:
    values = [v for v in range(40) for _ in range(10)]
    one = drawn(summary_of(bench, Kind.INTEGER, values, [{"bucketize": {"width": 10}}]))[0]
    assert [bar.name for bar in one.lower] == ["[0, 10)", "[10, 20)", "[20, 30)", "[30, 40)"]
    assert [round(bar.left + 0.5) for bar in one.lower] == [0, 10, 20, 30]
    assert all(bar.share == pytest.approx(0.25) for bar in one.lower)


def test_merged_texts_stand_side_by_side_under_one_bar(bench: Bench) -> None:
    values = [v for v in ("a1", "b1", "a2", "b2") for _ in range(10)]
    one = drawn(summary_of(bench, Kind.TEXT, values, [{"star_trailing": {"characters": 1}}]))[0]
    assert [bar.name for bar in one.upper] == ["a1", "a2", "b1", "b2"]
    assert [(bar.left, bar.right, bar.name) for bar in one.lower] == [(0, 2, "a*"), (2, 4, "b*")]


def test_rare_texts_are_counted_together(bench: Bench) -> None:
    values = ["common"] * 20 + ["rare-1"] * 4 + ["rare-2"] * 3
    one = drawn(summary_of(bench, Kind.TEXT, values, ["identity"]))[0]
    assert [(bar.name, round(bar.share * 27)) for bar in one.upper] == [("common", 20), ("other (2 values)", 7)]


def test_random_masks_do_not_make_a_rare_value_common(bench: Bench) -> None:
    values = ["common"] * 500 + ["frequent"] * 400 + ["canary"]
    for summary in told(summary_of(bench, Kind.TEXT, values, [{"randomize": {"keep": 0.1}}])):
        masked = next(iter(summary.attributes["a"].masked.values()))
        assert masked.joint.counts.sum(axis=1).min() > 100  # without the rule it would be named
        assert "canary" not in str(drawn(summary))


def test_missing_has_a_place_of_its_own(bench: Bench) -> None:
    values = [None] * 30 + list(range(50)) * 2
    one = drawn(summary_of(bench, Kind.INTEGER, values, ["identity"]))[0]
    last = max(one.upper, key=lambda bar: bar.right)
    assert (last.name, round(last.share, 4)) == ("missing", round(30 / 130, 4))
    nothing = drawn(summary_of(bench, Kind.INTEGER, values, ["nullify"]))[0]
    assert [(bar.name, bar.share) for bar in nothing.lower] == [("missing", 1.0)]


def test_dates_have_ticks_at_months_or_years(bench: Bench) -> None:
    days = (np.datetime64("2020-01-01") + np.arange(1400).astype("timedelta64[D]")).tolist()
    one = drawn(summary_of(bench, Kind.DATE, days, ["identity", {"date_truncate": {"unit": "month"}}]))[0]
    assert [tick.text for tick in one.ticks] == ["2020", "2021", "2022", "2023"]
    few = drawn(summary_of(bench, Kind.DATE, days[:200], ["identity"]))[0]
    assert [tick.text for tick in few.ticks] == ["2020-01", "2020-04", "2020-07"]
    assert len(one.upper) <= MOST_BARS


def test_an_outlier_does_not_stretch_the_axis(bench: Bench) -> None:
    values = [float(v) for v in range(100) for _ in range(5)] + [987654.25]
    one = drawn(summary_of(bench, Kind.REAL, values, ["identity", {"bucketize": {"width": 10}}]))[0]
    assert max(bar.right for bar in one.upper) < 110
    assert "987" not in str(one)
