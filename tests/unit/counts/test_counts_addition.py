"""Counts of parts add up to the counts of the whole, in whatever way the rows are split."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.counts.addition import add_summaries, count_part
from aegis.counts.collect import Limits, count_joints
from aegis.counts.folder import read_summary, write_summary
from aegis.counts.protection import Protection
from aegis.counts.summary import Level, Summary, masked_counts, reduced
from aegis.data.engine import open_dataset
from aegis.errors import DataError, SummaryError
from aegis.masking.configuration import Configuration
from aegis.ranking.rank import rank

FITTED = [
    Configuration.of("mild", {"age": {"bucketize": {"width": 10}}, "town": {"star_trailing": {"characters": 1}}}),
    Configuration.of("noisy", {"age": {"add_laplace_noise": {"scale": 3, "step": 1, "low": 0, "high": 60}}}),
    Configuration.of(
        "strong", {"age": {"top_code": {"at": 30}}, "town": "suppress", "y": {"regroup": {"groups": {"a": ["p"]}}}}
    ),
]
READING = [
    *FITTED,
    Configuration.of("quantiles", {"age": {"bucketize": {"quantiles": 3}}, "town": {"randomize": {"keep": 0.5}}}),
]

ROW = st.tuples(
    st.none() | st.integers(0, 60),
    st.none() | st.sampled_from(["ulm", "bonn", "köln", ""]),
    st.none() | st.sampled_from(["p", "q", "r"]),
)


def summary_of(rows: Sequence[tuple[Any, ...]], configurations: list[Configuration], name: str = "part") -> Summary:
    ages, towns, labels = zip(*rows, strict=True)
    table = pa.table(
        {"age": pa.array(ages, pa.int64()), "town": pa.array(towns, pa.string()), "y": pa.array(labels, pa.string())}
    )
    # A part may hold one label only; counting a whole table would refuse that.
    dataset = open_dataset(pa.concat_tables([table, EVERY]))
    counted = count_joints(dataset, label="y")
    return masked_counts(
        name=name,
        label="y",
        label_histogram=counted.label_histogram,
        joints=counted.joints,
        configurations=configurations,
    )


EVERY = pa.table({"age": pa.array([1, 2], pa.int64()), "town": pa.array(["ulm", "bonn"]), "y": pa.array(["p", "q"])})


def same(one: Summary, other: Summary) -> None:
    """All counts of two summaries, and what their masks do."""
    assert one.rows == other.rows
    assert one.label_histogram.domain == other.label_histogram.domain
    assert np.array_equal(one.label_histogram.counts, other.label_histogram.counts)
    assert list(one.attributes) == list(other.attributes)
    assert one.configurations == other.configurations
    for name, attribute in one.attributes.items():
        twin = other.attributes[name]
        assert attribute.domain == twin.domain
        if attribute.joint is not None and twin.joint is not None:
            assert np.array_equal(attribute.joint.counts, twin.joint.counts)
        assert (attribute.joint is None, attribute.histogram is None) == (twin.joint is None, twin.histogram is None)
        if attribute.histogram is not None and twin.histogram is not None:
            assert np.array_equal(attribute.histogram.counts, twin.histogram.counts)
        assert set(attribute.masked) == set(twin.masked)
        for key, masked in attribute.masked.items():
            assert masked.joint.attribute == twin.masked[key].joint.attribute
            assert masked.joint.label == twin.masked[key].joint.label
            assert np.allclose(masked.joint.counts, twin.masked[key].joint.counts, rtol=1e-12)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(ROW, min_size=3, max_size=40),
    cuts=st.sets(st.integers(1, 39), max_size=4),
    level=st.sampled_from(Level),
)
def test_parts_in_any_split_add_to_the_whole(rows: list[tuple[Any, ...]], cuts: set[int], level: Level) -> None:
    ends = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    pieces = [rows[a:b] for a, b in itertools.pairwise(ends)]
    configurations = READING if level is Level.TWO_D else FITTED
    parts = [reduced(summary_of(piece, configurations, f"p{i}"), level=level) for i, piece in enumerate(pieces)]
    # Each part carries the two rows that every part of this test has.
    every = [(1, "ulm", "p"), (2, "bonn", "q")] * (len(pieces) - 1)
    whole = reduced(summary_of([*rows, *every], configurations), level=level)
    if len(parts) > 1:
        added = add_summaries(parts)
        same(added, whole)
        assert added.parts == tuple(f"p{i}" for i in range(len(pieces)))
        nested = add_summaries([add_summaries(parts[:2]), *parts[2:]]) if len(parts) > 2 else added
        same(nested, whole)
        assert nested.parts == added.parts


def test_the_ranking_of_a_sum_is_the_ranking_of_the_whole() -> None:
    rng = np.random.default_rng(3)
    rows = list(zip(rng.integers(0, 60, 600).tolist(), rng.choice(["ulm", "bonn"], 600).tolist(),
                    rng.choice(["p", "q"], 600).tolist(), strict=True))  # fmt: skip
    added = add_summaries([summary_of(rows[:250], READING), summary_of(rows[250:], READING)])
    whole = summary_of([*rows, (1, "ulm", "p"), (2, "bonn", "q")], READING)
    for measure in ("leave-one-out-information", "mutual-information", "g3"):
        one, other = (rank(each, measure=measure) for each in (added, whole))
        assert [(c.configuration, c.utility) for c in one.ranking] == [
            (c.configuration, c.utility) for c in other.ranking
        ]


def test_a_sum_survives_its_folder(tmp_path: Path) -> None:
    added = add_summaries([summary_of([(5, "ulm", "p")], FITTED, "a"), summary_of([(9, None, "q")], FITTED, "b")])
    write_summary(added, tmp_path / "sum")
    read = read_summary(tmp_path / "sum")
    same(read, added)
    assert read.parts == ("a", "b")


def _other(summary: Summary, **changes: Any) -> Summary:
    return replace(summary, **changes)


PART = [(5, "ulm", "p"), (7, None, "q")]
DEFECTS: dict[str, tuple[Any, str]] = {
    "protected": (lambda s: _other(s, protection=Protection(min_count=3)), "protected"),
    "opaque": (lambda s: reduced(s, level=Level.TWO_D, opaque=True), "numbers only"),
    "policy": (lambda s: _other(s, rejected={"x": "too small"}), "policy"),
    "level": (lambda s: reduced(s, level=Level.NONE), "level"),
    "label": (lambda s: _other(s, label="z"), "label"),
    "configurations": (lambda s: summary_of(PART, FITTED[:2]), "configurations"),
    "masks": (
        lambda s: summary_of(PART, [Configuration.of("mild", {"age": "suppress"}), *FITTED[1:]]),
        "configurations",
    ),
    "columns": (lambda s: _other(s, attributes={"age": s.attributes["age"]}), "columns: town"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_what_does_not_add_up_is_refused(defect: str) -> None:
    change, said = DEFECTS[defect]
    summary = summary_of(PART, FITTED)
    with pytest.raises(SummaryError, match=said):
        add_summaries([summary, change(summary)])
    with pytest.raises(SummaryError, match="two summaries"):
        add_summaries([summary])


def test_masks_that_read_the_rows_add_up_only_where_joints_are_told() -> None:
    parts = [reduced(summary_of(PART, READING), level=Level.ONE_D) for _ in range(2)]
    with pytest.raises(SummaryError, match="reads its edges"):
        add_summaries(parts)
    ranged = [reduced(summary_of(PART, FITTED), level=Level.ONE_D, ranges=2) for _ in range(2)]
    with pytest.raises(SummaryError, match="ranges"):
        add_summaries(ranged)


LIMITS = Limits(numbers=20, bins=8)


def _numbers(rows: int, seed: int, **more: Any) -> pa.Table:
    rng = np.random.default_rng(seed)
    fine = rng.normal(size=rows) * (1 + seed)
    return pa.table({"fine": pa.array(fine, mask=rng.random(rows) < 0.1), "y": rng.integers(0, 3, rows) % 2, **more})


def test_a_new_part_is_counted_in_the_ranges_of_the_first() -> None:
    first, second = _numbers(300, 0), _numbers(200, 1)
    counted = count_joints(open_dataset(first), label="y", limits=LIMITS)
    configurations = [Configuration.of("c", {"fine": {"bucketize": {"width": 1}}})]

    def told(found: Any) -> Summary:
        return masked_counts(name="t", label="y", label_histogram=found.label_histogram, joints=found.joints,
                         configurations=configurations)  # fmt: skip

    known = told(counted)
    part = count_part(open_dataset(second), known)
    starts = counted.joints["fine"].attribute.values
    assert np.array_equal(part.joints["fine"].attribute.values, starts)
    by_hand = np.zeros((len(starts) + 1, 2), dtype=int)
    for value, label in zip(second["fine"].to_pylist(), second["y"].to_pylist(), strict=True):
        place = len(starts) if value is None else max(int(np.searchsorted(starts, value, side="right")) - 1, 0)
        by_hand[place, label] += 1
    assert part.joints["fine"].counts.tolist() == by_hand.tolist()
    whole = add_summaries([known, told(part)])
    assert whole.rows == 500
    other = count_joints(open_dataset(second), label="y", limits=LIMITS)
    with pytest.raises(SummaryError, match="other ranges"):
        add_summaries([known, told(other)])


def test_a_part_with_other_columns_is_refused() -> None:
    known = summary_of(PART, FITTED)
    good = pa.table({"age": [1, 2], "town": ["a", "b"], "y": ["p", "q"]})
    assert count_part(open_dataset(good), known).rows == 2
    for table, said in (
        (good.drop_columns(["town"]), "lacks the column 'town'"),
        (good.append_column("more", pa.array([1, 2])), "has the column 'more'"),
        (good.set_column(0, "age", pa.array(["x", "CANARY"])), "holds text here and held integer"),
        (good.slice(0, 0), "no rows"),
    ):
        with pytest.raises(DataError, match=said) as raised:
            count_part(open_dataset(table), known)
        assert "CANARY" not in str(raised.value)


def test_whole_numbers_and_decimals_of_one_column_are_added_as_decimals() -> None:
    known = summary_of(PART, FITTED)
    part = count_part(open_dataset(pa.table({"age": [1.5, 2.0], "town": ["a", "b"], "y": ["p", "q"]})), known)
    more = masked_counts(name="m", label="y", label_histogram=part.label_histogram, joints=part.joints,
                     configurations=FITTED)  # fmt: skip
    whole = add_summaries([known, more])
    joint = whole.attributes["age"].joint
    assert joint is not None
    assert joint.attribute.values.tolist() == [1.0, 1.5, 2.0, 5.0, 7.0]
