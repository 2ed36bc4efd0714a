"""Count pairs of attributes with the label in the engine, over a sample of rows that is drawn once.

The sample becomes a temporary table of small numbers inside the engine; only counts leave it. All pairs of one
attribute are asked for in one question, because 300 questions would cost more to phrase than to answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import SummaryError
from aegis.summaries.collect import Counted, Progress, ask, stepped
from aegis.summaries.joint import Histogram
from aegis.summaries.pair_counts import PairCounts, PairTables, ValueGroups

if TYPE_CHECKING:
    import ibis.expr.types as ir

_PART, _LABEL = "_aegis_part", "_aegis_label"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLimits:
    """How many rows are sampled, into how many groups a domain is put, and in how many parts joints are counted."""

    rows: int = 50_000
    groups: int = 64
    parts: int = 16

    def __post_init__(self) -> None:
        if self.rows < 1 or self.parts < 2 or not 3 <= self.groups <= 1_000:
            raise SummaryError("pairs need at least 1 row, 2 parts and 3 to 1,000 groups; change the limits")


def count_pairs(
    dataset: Dataset,
    counted: Counted,
    *,
    limits: PairLimits | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> PairTables:
    """Count every two attributes of ``counted`` with the label, over at most ``limits.rows`` rows."""
    limits = limits or PairLimits()
    names = list(counted.joints)
    groups = {name: ValueGroups.bounded(joint.histogram(), limits.groups) for name, joint in counted.joints.items()}
    label = counted.label_histogram
    every_label = ValueGroups.bounded(label, max(label.domain.size, 3))
    coded = _sample(dataset, counted, limits, seed)
    columns = {name: f"c{i}" for i, name in enumerate(names)}
    for name, column in columns.items():
        coded = _coded(coded, name, column, counted.joints[name].histogram(), groups[name])
    coded = _coded(coded, counted.label, _LABEL, label, every_label)
    coded = coded.select(**{_PART: (ibis.row_number() % limits.parts).cast("int64")}, **{
        column: coded[column] for column in (*columns.values(), _LABEL)
    })  # fmt: skip
    labels = label.domain.size
    tables: dict[tuple[str, str], PairCounts] = {}
    with coded.cache() as sample:
        parts = _parts(sample, columns, groups, labels, limits.parts)
        for i, first in enumerate(names[:-1]):
            if progress is not None:
                progress(i, len(names), first)
            tables.update(_pairs_of(sample, first, names[i + 1 :], columns, groups, labels))
    sampled = int(next(iter(parts.values())).sum())
    if progress is not None:
        progress(len(names), len(names), "done")
    return PairTables(rows=counted.rows, sample_rows=sampled, labels=labels, groups=groups, tables=tables, parts=parts)


def _sample(dataset: Dataset, counted: Counted, limits: PairLimits, seed: int) -> ir.Table:
    table = dataset.table.select(*counted.joints, counted.label)
    if counted.rows <= limits.rows:
        return table
    # A little more than is needed, then cut: a Bernoulli sample has no fixed size.
    fraction = min(1.0, 1.05 * limits.rows / counted.rows)
    return table.sample(fraction, method="row", seed=seed).limit(limits.rows)


def _coded(table: ir.Table, name: str, column: str, histogram: Histogram, groups: ValueGroups) -> ir.Table:
    """The table with one more column: the group of each value of column ``name``."""
    domain = histogram.domain
    known = len(domain.values)
    missing = int(groups.codes[known]) if domain.missing else 0
    if domain.kind is Kind.TEXT:
        return _joined(table, name, column, domain, groups, missing)
    if not known:
        return table.mutate(**{column: ibis.literal(missing).cast("int16")})
    values, codes = domain.values, groups.codes[:known]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    value = table[name].cast("int64") if domain.kind is Kind.BOOLEAN else table[name]
    edges = (values.astype(np.int64) if domain.kind is Kind.BOOLEAN else values)[starts].tolist()
    code = stepped(value, edges, codes[starts].tolist())
    return table.mutate(**{column: table[name].isnull().ifelse(missing, code).cast("int16")})


def _joined(table: ir.Table, name: str, column: str, domain: Domain, groups: ValueGroups, missing: int) -> ir.Table:
    """Texts get their group from a small table; those that share a group with others are not listed in it."""
    codes = groups.codes[: len(domain.values)]
    alone = np.bincount(codes, minlength=groups.size)[codes] == 1
    rest = int(codes[~alone][0]) if (~alone).any() else missing
    value, code = f"{column}_value", f"{column}_code"
    listed = pa.table(
        {value: pa.array(domain.values[alone].tolist(), pa.string()), code: pa.array(codes[alone], pa.int64())}
    )
    mapping = ibis.memtable(listed)
    joined = table.left_join(mapping, table[name] == mapping[value])
    found = joined[name].isnull().ifelse(missing, joined[code].fill_null(rest))
    return joined.mutate(**{column: found.cast("int16")}).drop(value, code)


def _parts(
    sample: ir.Table, columns: dict[str, str], groups: dict[str, ValueGroups], labels: int, parts: int
) -> dict[str, NDArray[np.int64]]:
    """The joint of each attribute with the label in each part, all from one question."""
    sizes = [parts * groups[name].size * labels for name in columns]
    ends = np.cumsum([0, *sizes])
    asked = [
        sample.select(k=(_key(sample, _PART, column, groups[name].size) * labels + sample[_LABEL] + int(offset)))
        for (name, column), offset in zip(columns.items(), ends, strict=False)
    ]
    cells = _counted(asked, int(ends[-1]))
    return {
        name: cells[start:end].reshape(parts, groups[name].size, labels)
        for name, (start, end) in zip(columns, pairwise(ends.tolist()), strict=True)
    }


def _pairs_of(
    sample: ir.Table,
    first: str,
    others: list[str],
    columns: dict[str, str],
    groups: dict[str, ValueGroups],
    labels: int,
) -> dict[tuple[str, str], PairCounts]:
    """The pair tables of one attribute with the ones after it."""
    ends = np.cumsum([0, *(groups[first].size * groups[other].size * labels for other in others)])
    asked = [
        sample.select(
            k=_key(sample, columns[first], columns[other], groups[other].size) * labels + sample[_LABEL] + int(offset)
        )
        for other, offset in zip(others, ends, strict=False)
    ]
    cells = _counted(asked, int(ends[-1]))
    tables = {}
    for other, (start, end) in zip(others, pairwise(ends.tolist()), strict=True):
        table = cells[start:end].reshape(-1, labels)
        there = np.flatnonzero(table.any(axis=1))
        width = groups[other].size
        tables[first, other] = PairCounts(first=there // width, second=there % width, counts=table[there])
    return tables


def _key(sample: ir.Table, first: str, second: str, width: int) -> Any:
    return sample[first].cast("int64") * width + sample[second]


def _counted(asked: list[ir.Table], size: int) -> NDArray[np.int64]:
    """How often each key occurs among the asked columns, as an array over all keys."""
    together = asked[0] if len(asked) == 1 else ibis.union(asked[0], *asked[1:])
    answer = ask(together.group_by("k").aggregate(n=ibis._.count()))
    cells = np.zeros(size, dtype=np.int64)
    cells[answer["k"].to_numpy()] = answer["n"].to_numpy()
    return cells
