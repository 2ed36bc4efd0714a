"""Protected summaries: no small cell however much is laid over each other, or noise that keeps its budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.counts.consistency import check_margins
from aegis.counts.exposure import exposure
from aegis.counts.folder import read_summary, write_summary
from aegis.counts.joint import Histogram, Joint, TableCounts
from aegis.counts.protect import add_noise, grouped, merge_small, nearest_counts
from aegis.counts.protection import Protection
from aegis.counts.summary import ConfigurationScores, Level, Summary, masked_counts, reduced
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import SummaryError
from aegis.masking.configuration import Configuration
from aegis.ranking.rank import rank

LABEL = Domain.of(Kind.TEXT, ["no", "perhaps", "yes"])
CONFIGURATIONS = [
    Configuration.of("raw", {}),
    Configuration.of("tens", {"age": {"bucketize": {"width": 10}}, "zip": {"star_trailing": {"characters": 1}}}),
    Configuration.of("shifted", {"age": {"bucketize": {"width": 10, "origin": 5}}, "zip": "suppress"}),
    Configuration.of("thirds", {"age": {"bucketize": {"quantiles": 3}}, "y": {"regroup": {"groups": {"no": ["no"]}}}}),
    Configuration.of("noisy", {"zip": {"randomize": {"keep": 0.7}}}),
]


def _joint(rng: np.random.Generator, kind: Kind, size: int, rows: int, *, missing: bool, y: Any) -> Joint:
    values: Any = np.arange(size) if kind is Kind.INTEGER else [f"{100 + 7 * i}" for i in range(size)]
    domain = Domain.of(kind, values, missing=missing)
    codes = np.minimum(rng.geometric(3 / size, rows) - 1, domain.size - 1)
    counts = np.zeros((domain.size, LABEL.size), dtype=np.int64)
    np.add.at(counts, (codes, y), 1)
    return Joint(attribute=domain, label=LABEL, counts=counts)


def _full(seed: int, *, rows: int = 600, size: int = 40, missing: bool = True) -> Summary:
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.geometric(0.6, rows) - 1, 2)
    joints = {
        "age": _joint(rng, Kind.INTEGER, size, rows, missing=missing, y=y),
        "zip": _joint(rng, Kind.TEXT, size, rows, missing=missing, y=y),
    }
    label = Histogram(domain=LABEL, counts=np.bincount(y, minlength=3))
    return masked_counts(name="t", label="y", label_histogram=label, joints=joints, configurations=CONFIGURATIONS)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    least=st.integers(2, 30),
    size=st.integers(1, 60),
    missing=st.booleans(),
    rows=st.integers(100, 800),
)
def test_no_cell_is_small_however_much_is_laid_over_each_other(
    seed: int, least: int, size: int, missing: bool, rows: int
) -> None:
    full = _full(seed, rows=rows, size=max(size, 4), missing=missing)
    try:
        merged = merge_small(full, least)
    except SummaryError:
        assert (full.label_histogram.counts >= least).sum() < 2 or rows < 2 * least
        return
    check_margins(merged)
    assert merged.rows == rows
    for attribute in merged.attributes.values():
        assert attribute.joint is not None
        for counts in (attribute.joint.counts, attribute.joint.counts.sum(axis=1)):
            assert counts[counts > 0].min() >= least
    for level in Level:
        seen = exposure(reduced(merged, level=level), k=least)
        assert seen.records_below_k == 0
        assert seen.records_below_k_with_label == 0


@given(seed=st.integers(0, 1000), kind=st.sampled_from([Kind.INTEGER, Kind.TEXT]), least=st.integers(2, 20))
def test_groups_are_made_of_neighbours_or_of_the_rare(seed: int, kind: Kind, least: int) -> None:
    joint = _joint(np.random.default_rng(seed), kind, 30, 300, missing=True, y=np.zeros(300, dtype=int))
    groups = grouped(joint.attribute, joint.counts[:, :1], least)
    codes, target = groups.partition.codes, groups.partition.target
    assert sorted(set(codes.tolist())) == list(range(target.size))
    if kind is Kind.INTEGER:
        assert (np.diff(codes[: len(joint.attribute.values)]) >= 0).all()
    for group, speaker in enumerate(groups.speakers):
        assert codes[speaker] == group
    common = np.flatnonzero(joint.counts[:-1, 0] >= least)
    if kind is Kind.TEXT:
        kept = {str(joint.attribute.values[c]) for c in common}
        assert len(kept - set(target.values.tolist())) <= 1, "a common text keeps its name, unless the rare need it"


def test_nothing_is_merged_where_nothing_is_small() -> None:
    full = _full(1, rows=50_000, size=4, missing=False)
    merged = merge_small(full, 2)
    for name, attribute in full.attributes.items():
        assert merged.attributes[name].domain == attribute.domain
    order = [one.configuration for one in rank(full).ranking]
    assert [one.configuration for one in rank(merged).ranking] == order


@pytest.mark.parametrize("level", list(Level))
def test_a_protected_summary_can_be_sent(tmp_path: Path, level: Level) -> None:
    for number, summary in enumerate([merge_small(_full(2), 5), _noisy(_full(2), 2.0)]):
        write_summary(reduced(summary, level=level), tmp_path / str(number))
        found = read_summary(tmp_path / str(number))
        assert found.protection == summary.protection
        assert len(rank(found).ranking) == len(CONFIGURATIONS)


def test_a_merged_summary_says_why_it_has_ranges_and_scores_no_pairs(tmp_path: Path) -> None:
    full = _full(3, size=60)
    scores = ConfigurationScores(
        unit="bits",
        sample_rows=600,
        utilities=np.zeros(len(full.configurations)),
        resampled=np.zeros((len(full.configurations), 2)),
        original=1.0,
        original_resampled=np.ones(2),
    )
    merged = merge_small(replace(full, scores={"pair-prediction": scores}), 5)
    assert merged.scores == {}
    write_summary(merged, tmp_path / "s")
    told = read_summary(tmp_path / "s")
    assert told.protection == merged.protection
    assert told.protection is not None
    smaller = [n for n in full.names if len(told.attributes[n].masked) and _size(told, n) < _size(full, n)]
    assert smaller
    assert [name for name in told.protection.merged if name != full.label] == smaller
    notes = rank(told).notes
    assert not any("too many distinct values" in note for note in notes)
    assert any(f"fewer than 5 records were merged in {smaller[0]}" in note and "left out" in note for note in notes)


def _size(summary: Summary, name: str) -> int:
    domain = summary.attributes[name].domain
    assert domain is not None
    return domain.size


def _noisy(full: Summary, epsilon: float) -> Summary:
    counted = _counted(full)
    protected, protection = add_noise(counted, epsilon)
    made = masked_counts(
        name="t",
        label="y",
        label_histogram=protected.label_histogram,
        joints=protected.joints,
        configurations=CONFIGURATIONS,
    )
    return replace(made, protection=protection)


def _counted(full: Summary) -> TableCounts:
    joints = {name: a.joint for name, a in full.attributes.items() if a.joint is not None}
    return TableCounts(rows=int(full.rows), label="y", label_histogram=full.label_histogram, joints=joints, skipped={})


def test_the_budget_is_split_and_stated() -> None:
    protection = Protection(epsilon=1.0, attributes=4)
    assert protection.epsilon_each == 0.25
    assert protection.scale == 4.0
    assert protection.to_json()["epsilon_each"] == 0.25
    assert "0.25 each" in protection.describe()
    assert Protection.from_json(protection.to_json()) == protection


def test_the_noise_has_the_stated_scale() -> None:
    """Cells far from zero are moved by noise alone: its spread is that of a geometric of the stated scale."""
    rng = np.random.default_rng(0)
    counts = rng.integers(100_000, 200_000, (500, 2))
    label = Domain.of(Kind.TEXT, ["a", "b"])
    joint = Joint(attribute=Domain.of(Kind.INTEGER, np.arange(500)), label=label, counts=counts)
    histogram = Histogram(domain=label, counts=counts.sum(axis=0))
    counted = TableCounts(rows=1, label="y", label_histogram=histogram, joints={"a": joint, "b": joint}, skipped={})
    noisy, protection = add_noise(counted, 0.5)
    apart = np.concatenate([(noisy.joints[name].counts - counts).ravel() for name in ("a", "b")]).astype(float)
    assert protection.scale == 4.0
    assert np.std(apart) == pytest.approx(np.sqrt(2) * 4.0, rel=0.12)
    assert not np.array_equal(noisy.joints["a"].counts, noisy.joints["b"].counts)


@given(st.lists(st.integers(-50, 200), min_size=1, max_size=40), st.integers(0, 500))
def test_the_nearest_counts_are_counts_with_the_sum_asked_for(noisy: list[int], total: int) -> None:
    found = nearest_counts(np.array(noisy)[:, None], np.array([total]))[:, 0]
    assert (found >= 0).all()
    assert int(found.sum()) == total
    order = np.argsort(noisy, kind="stable")
    assert (np.diff(found[order]) >= -1).all(), "larger noisy counts stay larger, but for rounding"


def test_noise_makes_no_records_of_nothing() -> None:
    """A sparse joint of many cells: zeros that noise lifted are taken back."""
    full = _full(8, rows=3_000, size=60)
    rows = [_noisy(full, 1.0).rows for _ in range(8)]
    assert abs(np.mean(rows) - 3_000) < 150
    for attribute in _noisy(full, 1.0).attributes.values():
        assert attribute.joint is not None
        assert attribute.joint.rows == pytest.approx(3_000, abs=400)


def test_noise_makes_the_advisor_less_sure() -> None:
    # The noise comes from the system's randomness and cannot be seeded: the middle of several draws is steady.
    exact = _full(5, rows=5_000)

    def width(summary: Summary, level: Level) -> float:
        low, high = rank(reduced(summary, level=level)).best.interval
        return high - low

    for level in (Level.TWO_D, Level.ONE_D, Level.NONE):
        middle = [float(np.median([width(_noisy(exact, epsilon), level) for _ in range(9)])) for epsilon in (5.0, 0.3)]
        assert width(exact, level) < middle[1]
        if level is Level.TWO_D:
            assert middle[0] < middle[1]


@pytest.mark.parametrize(
    "wrong", [{"min_count": 1}, {"epsilon": 0.0}, {"epsilon": -1.0}, {"min_count": 5, "epsilon": 1.0}]
)
def test_protections_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SummaryError):
        Protection(attributes=3, **wrong)


# Exposure


def test_two_harmless_partitions_show_one_person_together() -> None:
    """Ages 0 to 19 in tens, and in tens from 1 on: each group is large, and their overlap is the one child of 0."""
    counts = np.full(20, 10)
    counts[0] = 1
    domain = Domain.of(Kind.INTEGER, np.arange(20))
    label = Domain.of(Kind.TEXT, ["a", "b"])
    joint = Joint(attribute=domain, label=label, counts=np.column_stack([counts, counts]))
    made = masked_counts(
        name="t",
        label="y",
        label_histogram=Histogram(domain=label, counts=joint.counts.sum(axis=0)),
        joints={"age": joint},
        configurations=[
            Configuration.of("a", {"age": {"bucketize": {"width": 10}}}),
            Configuration.of("b", {"age": {"bucketize": {"width": 10, "origin": 1}}}),
        ],
    )
    told = reduced(made, level=Level.NONE)
    (age,) = exposure(told, k=5).attributes
    assert (age.partitions, age.cells) == (2, 4)
    assert age.smallest_cell == 2
    assert age.smallest_cell_with_label == 1
    assert age.records_below_k == 2
    # One alone shows nothing small.
    alone = replace(told, configurations=told.configurations[:1])
    attribute = told.attributes["age"]
    first = dict(list(attribute.masked.items())[:1])
    alone = replace(alone, attributes={"age": replace(attribute, masked=first)})
    assert exposure(alone, k=5).records_below_k == 0


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_less_told_never_shows_more(seed: int) -> None:
    full = _full(seed, rows=200, size=12)
    shown = [exposure(reduced(full, level=level), k=5) for level in (Level.TWO_D, Level.NONE)]
    for more, less in zip(shown[0].attributes, shown[1].attributes, strict=True):
        assert less.cells <= more.cells + 1  # an empty cell of all values is not counted, an open one is
        if less.smallest_cell is not None and more.smallest_cell is not None:
            assert less.smallest_cell >= more.smallest_cell


def test_opaque_summaries_do_not_identify_their_configurations(tmp_path: Path) -> None:
    full = _full(7)
    write_summary(reduced(full, level=Level.NONE, opaque=True), tmp_path / "s")
    told = read_summary(tmp_path / "s")
    assert [c.name for c in told.configurations] == [c.name for c in full.configurations]
    assert [c.id for c in told.configurations] == [f"c{i + 1:04d}" for i in range(len(full.configurations))]
    written = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "s").rglob("*") if path.is_file())
    assert not any(c.id in written for c in full.configurations)
    assert [one.configuration for one in rank(told, measure="mutual-information").ranking] == [
        one.configuration for one in rank(full, measure="mutual-information").ranking
    ]


def test_opaque_summaries_are_looked_at_mask_by_mask() -> None:
    full = _full(7)
    opaque = reduced(full, level=Level.NONE, opaque=True)
    shown, plain = exposure(opaque, k=5), exposure(full, k=5)
    assert plain.caveat is None
    assert shown.caveat is not None
    assert "cannot be laid over each other" in shown.caveat
    assert "lower bounds" in shown.caveat
    for alone, together in zip(shown.attributes, plain.attributes, strict=True):
        published = opaque.attributes[alone.name].masked
        assert [(m.id, m.label_mask) for m in alone.masks] == list(published)
        for mask, each in zip(alone.masks, published.values(), strict=True):
            sizes = np.round(each.joint.counts.sum(axis=1))
            assert mask.smallest_cell == sizes[sizes > 0].min()
            assert mask.records_below_k == sizes[sizes < 5].sum()
        assert alone.smallest_cell == min(m.smallest_cell for m in alone.masks if m.smallest_cell is not None)
        # Lower bounds: laying over each other can only show more.
        assert together.smallest_cell is not None
        assert alone.smallest_cell >= together.smallest_cell
        assert alone.records_below_k <= together.records_below_k
