"""The two faces of a mask agree: on distinct values in numpy, and on rows in the engine."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from aegis.counts.answer import ask
from aegis.data.domain import Domain
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import MaskError
from aegis.masking.mask import MASKS, Mask
from aegis.masking.masks.bucketize import Bucketize
from aegis.masking.masks.date_ranges import DateRanges
from aegis.masking.masks.date_truncate import DateTruncate
from aegis.masking.masks.digits import EraseDigits, StarDigits
from aegis.masking.masks.generalize import Generalize
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.limits import BottomCode, TopCode
from aegis.masking.masks.noise import AddGaussianNoise, AddLaplaceNoise
from aegis.masking.masks.randomize import Randomize, Shuffle
from aegis.masking.masks.ranges import Ranges
from aegis.masking.masks.regroup import Regroup
from aegis.masking.masks.round import Round
from aegis.masking.masks.stars import EmailMask, LastFour, StarTrailing
from aegis.masking.masks.suppress import Nullify, Suppress
from aegis.masking.masks.tokens import Pseudonym, Token
from aegis.masking.transition import Chain, transition
from aegis.releases.apply import masked_table

ARROW = {
    Kind.INTEGER: pa.int64(),
    Kind.REAL: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
}


QUICK = (Phase.explicit, Phase.reuse, Phase.generate)  # a query per example: shrinking takes minutes


@dataclass(frozen=True)
class ColumnCounts:
    domain: Domain
    counts: Any


@pytest.fixture(scope="module", params=["duckdb", "postgres", "spark"])
def engine(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.param == "spark":
        yield request.getfixturevalue("spark")
        return
    postgres = request.param == "postgres"
    connection = ibis.connect(request.getfixturevalue("postgres_url")) if postgres else ibis.duckdb.connect()
    yield connection
    connection.disconnect()


@pytest.fixture(autouse=True)
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEGIS_PSEUDONYM_KEY", "a key that only this test knows")


def counted(kind: Kind, rows: list[Any]) -> ColumnCounts:
    present = [value for value in rows if value is not None]
    domain = Domain.of(kind, present, missing=None in rows)
    codes = [len(domain.values)] * (len(rows) - len(present))
    counts = np.bincount([*domain.codes(np.array(present, dtype=kind.dtype)).tolist(), *codes], minlength=domain.size)
    return ColumnCounts(domain=domain, counts=counts)


_ASKED: Counter[str] = Counter()


def asked_enough(engine: Any, test: str, examples: int) -> bool:
    """Spark takes a second or two per question: it sees the first examples of a test, the other engines see all."""
    _ASKED[test] += engine.name == "pyspark"
    return engine.name == "pyspark" and _ASKED[test] > examples


def uploaded(engine: Any, name: str, data: pa.Table) -> Any:
    """The rows in the engine; in Spark in two partitions."""
    if engine.name != "pyspark":
        return engine.create_table(name, data, overwrite=True)
    engine._session.createDataFrame(data).repartition(2).createOrReplaceTempView(name)
    return engine.table(name)


def run(engine: Any, kind: Kind, rows: list[Any], masks: list[Mask]) -> list[list[Any]]:
    """Each of ``masks`` on the same column, in one query; rows in their order."""
    names = [f"c{i}" for i in range(len(masks))]
    column = pa.array(rows, type=ARROW[kind])
    data = pa.table({"row": pa.array(range(len(rows))), **dict.fromkeys(names, column)})
    table = uploaded(engine, "rows", data)
    histogram = counted(kind, rows)
    masked = masked_table(
        table, dict(zip(names, masks, strict=True)), histograms=dict.fromkeys(names, histogram)
    ).table.order_by("row")
    out = ask(masked)
    assert out.column_names == ["row", *names]
    return [out[name].to_pylist() for name in names]


def by_domain(kind: Kind, rows: list[Any], mask: Mask) -> list[Any]:
    """The same from the domain face alone."""
    histogram = counted(kind, rows)
    step = transition(mask, histogram.domain, histogram.counts)
    outcome = [*step.target.values.tolist(), *([None] if step.target.missing else [])]
    assert step.deterministic
    present = np.array([v for v in rows if v is not None], dtype=kind.dtype)
    codes = iter(histogram.domain.codes(present).tolist())
    missing = len(histogram.domain.values)
    return [outcome[step.codes[missing if v is None else next(codes)]] for v in rows]  # type: ignore[union-attr]


def assert_faces_agree(engine: Any, kind: Kind, rows: list[Any], masks: list[Mask]) -> None:
    for mask, found in zip(masks, run(engine, kind, rows, masks), strict=True):
        expected = by_domain(kind, rows, mask)
        wrong = [(v, e, f) for v, e, f in zip(rows, expected, found, strict=True) if e != f or type(e) is not type(f)]
        assert not wrong, (mask, wrong[:3])


def columns(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.none() | values, min_size=10, max_size=120).filter(lambda rows: any(v is not None for v in rows))


STEPS = st.one_of(
    st.integers(1, 1000),
    st.sampled_from([0.1, 0.25, 0.05, 2.5, 0.3, 12.5, 0.001, 7.75, 1e-6]),
    st.decimals("0.01", "99", places=2).map(float).filter(bool),
)
EDGES = st.lists(st.floats(-1e6, 1e6) | st.integers(-100, 100), min_size=1, max_size=12)


@st.composite
def number_masks(draw: st.DrawFn, kind: Kind) -> list[Mask]:
    step, width = draw(STEPS), draw(STEPS)
    origin = draw(st.sampled_from([0, 1, -3, 0.5, 0.1, -7.25]))
    edges = tuple(sorted({float(f"{edge:.15g}") for edge in draw(EDGES)}))
    limit = draw(st.integers(-50, 50) if kind is Kind.INTEGER else st.floats(-50, 50))
    digits = draw(st.integers(1, 4))
    masks: list[Mask] = [
        Identity(),
        Suppress(),
        Nullify(),
        Round(step=step),
        Bucketize(width=width, origin=origin),
        Bucketize(edges=edges),
        Bucketize(count=draw(st.integers(1, 9))),
        Bucketize(quantiles=draw(st.integers(1, 9))),
        EraseDigits(digits=digits),
        StarDigits(digits=digits),
        TopCode(at=limit),
        BottomCode(at=limit),
        TopCode(quantile=0.75),
        BottomCode(quantile=0.3),
    ]
    if kind is Kind.INTEGER:
        masks += [
            Ranges(count=draw(st.integers(1, 8))),
            StarTrailing(characters=digits),
            LastFour(),
            Regroup(groups={"few": [0, 1, 2], "round": [10, 20, -10]}, other="rest"),
        ]
    return masks


@settings(max_examples=15, deadline=None, phases=QUICK)
@given(rows=columns(st.integers(-200, 200) | st.integers(-(10**9), 10**9)), masks=number_masks(Kind.INTEGER))
def test_whole_numbers(engine: Any, rows: list[Any], masks: list[Mask]) -> None:
    if not asked_enough(engine, "whole numbers", 3):
        assert_faces_agree(engine, Kind.INTEGER, rows, [mask for mask in masks if not refuses(mask, rows)])


def refuses(mask: Mask, rows: list[Any]) -> bool:
    """Whether a step is too fine for numbers this large, which both faces say before anything is masked."""
    try:
        by_domain(Kind.INTEGER, rows, mask)
    except MaskError:
        return True
    return False


REALS = st.one_of(
    st.floats(-1000, 1000),
    st.decimals("-100", "100", places=2).map(float),
    st.integers(-1000, 1000).map(lambda n: n / 20),
    st.sampled_from([0.1 + 0.2, 0.3, 0.7, 0.15, 1.005, -0.0, 5e-324, -5.0, 5.0, 55.0, math.nextafter(0.3, 0)]),
)


@settings(max_examples=25, deadline=None, phases=QUICK)
@given(rows=columns(REALS), masks=number_masks(Kind.REAL))
def test_real_numbers(engine: Any, rows: list[Any], masks: list[Mask]) -> None:
    if asked_enough(engine, "real numbers", 3):
        return
    rows = [None if v is None else v + 0.0 for v in rows]
    if engine.name == "postgres":
        # Its arithmetic refuses (NumericValueOutOfRange) what underflows; an error, and never another value.
        rows = [0.0 if v is not None and 0.0 < abs(v) < sys.float_info.min * 1e6 else v for v in rows]
    present = {f"{v:.15g}": v for v in rows if v is not None}
    at_the_values = Bucketize(edges=tuple(sorted(present.values())))  # each value lies on an edge
    assert_faces_agree(engine, Kind.REAL, rows, [*masks, at_the_values])


def test_decimals_with_seventeen_digits(engine: Any) -> None:
    """Engines read a long decimal literal as its neighbour now and then, so edges keep fifteen digits."""
    rows = np.random.default_rng(0).normal(size=400).tolist()
    masks: list[Mask] = [Bucketize(edges=tuple(sorted(rows))), *(TopCode(at=limit) for limit in rows[:40])]
    assert_faces_agree(engine, Kind.REAL, rows, masks)


TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12),
    st.from_regex(r"[0-9]{5}", fullmatch=True),
    st.emails(),
    st.sampled_from(
        ["a@b@c", "@", "x@", "@y", "e\u0301tude", "👩‍👩‍👧", "it", "es", "o'clock", 'quo"te', "a\nb@c\n", " "]
    ),
)


@settings(max_examples=15, deadline=None, phases=QUICK)
@given(rows=columns(TEXTS), characters=st.integers(1, 6))
def test_text(engine: Any, rows: list[Any], characters: int) -> None:
    if asked_enough(engine, "texts", 4):
        return
    masks: list[Mask] = [
        Identity(),
        Suppress(),
        Nullify(),
        StarTrailing(characters=characters),
        LastFour(),
        EmailMask(),
        Regroup(groups={"south": ["it", "es"], "o'names": ["o'clock", ""], 'q"': ["👩‍👩‍👧"]}),
        Chain(links=(StarTrailing(characters=characters), Regroup(groups={"a": ["*" * characters]}))),
        Chain(links=(LastFour(), Suppress())),
    ]
    generalize = Generalize(
        level=1,
        hierarchy=Hierarchy.of([[v, v[:1] or "empty", "*"] for v in sorted({v for v in rows if v is not None})]),
    )
    assert_faces_agree(engine, Kind.TEXT, rows, [*masks, generalize])


@settings(max_examples=8, deadline=None, phases=QUICK)
@given(
    rows=columns(st.dates(date(1800, 1, 1), date(2200, 1, 1))),
    times=columns(st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1))),
    edges=st.sets(st.dates(date(1800, 1, 1), date(2200, 1, 1)), min_size=1, max_size=9),
)
def test_dates_and_times(engine: Any, rows: list[Any], times: list[Any], edges: set[date]) -> None:
    if asked_enough(engine, "dates", 3):
        return
    masks: list[Mask] = [DateTruncate(unit=unit) for unit in ("year", "quarter", "month", "week", "day")]
    masks += [Identity(), Suppress(), Nullify(), Chain(links=(DateTruncate(unit="month"), DateTruncate(unit="year")))]
    masks.append(DateRanges(edges=tuple(map(str, sorted(edges)))))
    on_days = DateRanges(edges=tuple(map(str, sorted({v for v in rows if v is not None}))))  # each on an edge
    assert_faces_agree(engine, Kind.DATE, rows, [*masks, on_days])
    on_times = DateRanges(edges=tuple(map(str, sorted({v for v in times if v is not None}))))
    assert_faces_agree(engine, Kind.TIMESTAMP, times, [*masks, on_times])


def test_booleans(engine: Any) -> None:
    masks: list[Mask] = [Identity(), Suppress(), Nullify(), Regroup(groups={"yes": [True], "no": [False]})]
    assert_faces_agree(engine, Kind.BOOLEAN, [True, None, False, True], masks)


@settings(max_examples=8, deadline=None, phases=QUICK)
@given(rows=columns(st.integers(0, 500)), width=st.integers(2, 60))
def test_a_chain_is_its_links_one_after_the_other(engine: Any, rows: list[Any], width: int) -> None:
    links: tuple[Mask, ...] = (Round(step=width), TopCode(at=200), Bucketize(quantiles=3))
    chain = Chain(links=links)
    assert_faces_agree(engine, Kind.INTEGER, rows, [chain])
    step_by_step = rows
    for link in links[:2]:
        step_by_step = by_domain(Kind.INTEGER, step_by_step, link)
    assert by_domain(Kind.INTEGER, step_by_step, links[2]) == by_domain(Kind.INTEGER, rows, chain)


@pytest.mark.parametrize("mask", [Token(), Pseudonym()])
def test_injective_masks_keep_apart_what_is_different(engine: Any, mask: Mask) -> None:
    rows = ["a", "b", None, "a", "c", "c"]
    (found,) = run(engine, Kind.TEXT, rows, [mask])
    pairs = set(zip(rows, found, strict=True))
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) == 4
    assert (None, None) in pairs


def test_a_pseudonym_is_the_same_tomorrow(engine: Any) -> None:
    first, second = (run(engine, Kind.TEXT, ["b", "a"], [Pseudonym()]) for _ in range(2))
    assert first == second


def test_a_value_nobody_counted_is_hidden_by_joined_masks(engine: Any) -> None:
    table = uploaded(engine, "late", pa.table({"c": ["a", "new", None]}))
    masked = masked_table(table, {"c": Token()}, histograms={"c": counted(Kind.TEXT, ["a", None])})
    found = ask(masked.table)["c"].to_pylist()
    assert found.count("*") == 1
    assert found.count(None) == 1
    assert masked.mappings[0].to_arrow()["value"].to_pylist() == ["a"]
    assert set(found) == {"*", None, *masked.mappings[0].to_arrow()["masked"].to_pylist()}


def test_a_shuffle_moves_values_and_keeps_the_histogram(engine: Any) -> None:
    rows = [*range(500), *[None] * 20]
    (found,) = run(engine, Kind.INTEGER, rows, [Shuffle()])
    assert sorted(found, key=lambda v: -1 if v is None else v) == sorted(rows, key=lambda v: -1 if v is None else v)
    stayed = sum(a == b for a, b in zip(rows, found, strict=True))
    assert stayed < 30, "about two rows keep their value, by chance"


RANDOM: list[tuple[Kind, list[Any], Mask]] = [
    (Kind.TEXT, ["a", "b", "c", "d", None], Randomize(keep=0.4)),
    (Kind.TEXT, ["a", "b", "c"], Randomize(epsilon=1.0)),
    (Kind.BOOLEAN, [True, False], Randomize(epsilon=0.5)),
    (Kind.REAL, [0.1, 0.30000000000000004, 2.5], Randomize(keep=0.2)),
    (Kind.DATE, [date(2020, 1, 1), date(2021, 5, 6)], Randomize(keep=0.2)),
    (Kind.INTEGER, [1, 2, 5, 9, None], AddLaplaceNoise(scale=2)),
    (Kind.INTEGER, [0, 10, 20], AddLaplaceNoise(scale=7, step=5, low=-10, high=40)),
    (Kind.REAL, [0.1, 0.2, 1.5, None], AddLaplaceNoise(scale=0.5, step=0.25)),
    (Kind.INTEGER, [1, 4, 9], AddGaussianNoise(scale=3)),
    (Kind.REAL, [-1.0, 0.0, 2.0], AddGaussianNoise(scale=1, step=0.5, low=-3, high=3)),
    (Kind.INTEGER, [1, 1, 1, 2, 5, None], Shuffle()),
    (Kind.INTEGER, [3, 14, 27, None], Chain(links=(AddLaplaceNoise(scale=9), Bucketize(width=10)))),
    (Kind.INTEGER, [3, 14, 27, None], Chain(links=(Bucketize(width=10), Randomize(keep=0.5)))),
    (Kind.INTEGER, [3, 14, 27, 41], Chain(links=(Bucketize(width=10), Shuffle()))),
]


@pytest.mark.parametrize(("kind", "pattern", "mask"), RANDOM, ids=[f"{m.name}-{k}" for k, _, m in RANDOM])
def test_random_masks_agree_in_distribution(engine: Any, kind: Kind, pattern: list[Any], mask: Mask) -> None:
    rows = pattern * (60_000 if engine.name == "duckdb" else 2_000)
    (found,) = run(engine, kind, rows, [mask])
    histogram = counted(kind, rows)
    step = transition(mask, histogram.domain, histogram.counts)
    outcomes = {v: i for i, v in enumerate(step.target.values.tolist())}
    assert set(found) <= {*outcomes, None}
    observed = np.zeros((histogram.domain.size, step.target.size))
    values = {v: i for i, v in enumerate(histogram.domain.values.tolist())}
    pairs = [(values.get(v, len(values)), outcomes.get(f, len(outcomes))) for v, f in zip(rows, found, strict=True)]
    np.add.at(observed, tuple(np.array(pairs).T), 1)
    expected = histogram.counts[:, None] * step.matrix
    assert not observed[expected == 0].any()
    for seen, awaited in zip(observed, expected, strict=True):
        usual = awaited >= 5
        statistic = ((seen - awaited)[usual] ** 2 / awaited[usual]).sum()
        # One in ten million: a failure means that the faces differ, not bad luck.
        assert statistic < chi2.isf(1e-7, max(int(usual.sum()), 1))


def test_every_mask_is_held_to_this() -> None:
    """Every registered mask is built somewhere above: among the strategies, or in the list of random ones."""
    built = set(
        re.findall(r"\b([A-Z]\w+)\(", Path(__file__).read_text(encoding="utf-8").partition("def test_every_mask")[0])
    )
    left_out = sorted({mask.__name__ for _, mask in MASKS.items()} - built)
    assert not left_out, f"build {', '.join(left_out)} in number_masks, test_text, test_dates_and_times or RANDOM"
