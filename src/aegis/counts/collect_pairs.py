"""Count pairs of attributes with the label, over a sample of rows that is drawn once.

In a database the sample becomes a temporary table, one line per row and attribute; joined with itself by row it holds
every pair, and one GROUP BY counts them all: only counts leave the engine. The embedded engine shares our memory, and
there numpy counts the sampled codes many times faster than that join.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.counts.answer import ask, codes_in, plain, to_numpy
from aegis.counts.binned import stepped
from aegis.counts.joint import Histogram, Joint, TableCounts
from aegis.counts.pair_counts import MOST_PAIRED, PairCounts, PairTables, ValueGroups
from aegis.data.dataset import Dataset, expression_of, sampled
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import SummaryError
from aegis.progress import Progress

if TYPE_CHECKING:
    import ibis.expr.types as ir


_MANY_ROWS = 1_000_000  # enough blocks of them that a few are a fair sample
_MANY_ATTRIBUTES = 16  # 120 pairs
_BLOCKS = 3  # times as many rows as are needed lie in the blocks that are read


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLimits:
    """How many rows are sampled, into how many groups a domain is put, in how many parts joints are counted, and how
    many ``attributes`` are paired at most."""

    rows: int = 40_000
    groups: int = 64
    parts: int = 16
    attributes: int = MOST_PAIRED

    def __post_init__(self) -> None:
        if self.rows < 1 or self.parts < 2 or self.attributes < 2 or not 3 <= self.groups <= 1_000:
            raise SummaryError(
                "pairs need at least 1 row, 2 parts, 2 attributes and 3 to 1,000 groups; change the limits"
            )

    @classmethod
    def for_table(cls, counted: TableCounts) -> PairLimits:
        """Coarser pairs where a table is long and wide: counting its rows must stay the larger part of the work."""
        if counted.rows >= _MANY_ROWS and len(counted.joints) > _MANY_ATTRIBUTES:
            return cls(rows=20_000, groups=24)
        return cls()


def count_pairs(
    dataset: Dataset,
    counted: TableCounts,
    *,
    limits: PairLimits | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> PairTables:
    """Count every two attributes of ``counted`` with the label, over at most ``limits.rows`` rows."""
    limits = limits or PairLimits.for_table(counted)
    left_out = _least_telling(counted.joints, len(counted.joints) - limits.attributes)
    counted = replace(counted, joints={name: joint for name, joint in counted.joints.items() if name not in left_out})
    items = list(counted.joints.items())
    groups = {name: ValueGroups.bounded(joint.histogram(), limits.groups) for name, joint in counted.joints.items()}
    label = counted.label_histogram
    if progress is not None:
        progress(0, 1, "pairs")
    rows = _sample(dataset, counted, limits, seed)
    labels = label.domain.size
    if dataset.backend.name in ("duckdb", "sqlite"):  # they run in this process
        tables = _count_here(rows, counted, groups, limits.parts)
    else:
        every_label = ValueGroups.bounded(label, max(labels, 3))
        # The part of the sample that a row is in counts as one more attribute.
        coded = rows.select(
            **{f"c{i}": _code(rows[name], joint.histogram(), groups[name]) for i, (name, joint) in enumerate(items)},
            **{f"c{len(items)}": (ibis.row_number() % limits.parts).cast("int64")},
            y=_code(rows[counted.label], label, every_label),
            r=ibis.row_number(),
        )
        width = max(limits.groups, limits.parts)
        tables = _decoded(_ask_pairs(coded, len(items) + 1, width, labels), len(items) + 1, width, labels)
    if progress is not None:
        progress(1, 1, "done")
    parts = {name: np.zeros((limits.parts, groups[name].size, labels), dtype=np.int64) for name in groups}
    for i, name in enumerate(groups):
        by_part = tables.pop((i, len(items)))
        parts[name][by_part.second, by_part.first] = by_part.counts
    names = list(groups)
    return PairTables(
        rows=counted.rows,
        sample_rows=int(parts[names[0]].sum()),
        labels=labels,
        groups=groups,
        tables={(names[i], names[j]): table for (i, j), table in tables.items()},
        parts=parts,
        left_out=left_out,
    )


def _least_telling(joints: Mapping[str, Joint], number: int) -> tuple[str, ...]:
    """So many attributes with the least information about the label, what chance alone would give taken off."""
    if number <= 0:
        return ()
    by_pair = {}
    for name, joint in joints.items():
        counts = np.asarray(joint.counts, dtype=np.float64)
        expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / max(counts.sum(), 1.0)
        occurring = counts > 0
        nats = float((counts[occurring] * np.log(counts[occurring] / expected[occurring])).sum())
        values, labels = ((counts.sum(axis=axis) > 0).sum() for axis in (1, 0))
        by_pair[name] = nats - (values - 1) * (labels - 1) / 2
    lowest = set(sorted(by_pair, key=lambda name: by_pair[name])[:number])
    return tuple(name for name in joints if name in lowest)


def _count_here(
    rows: ir.Table, counted: TableCounts, groups: Mapping[str, ValueGroups], parts: int
) -> dict[tuple[int, int], PairCounts]:
    """The pairs of a sample in the embedded engine."""
    answer = ask(rows)
    columns = [groups[name].codes[_codes(answer[name], joint.attribute)] for name, joint in counted.joints.items()]
    columns.append(np.arange(len(answer)) % parts)
    sizes = [*(group.size for group in groups.values()), parts]
    labels = counted.label_histogram.domain.size
    y = _codes(answer[counted.label], counted.label_histogram.domain)
    tables = {}
    for i, first in enumerate(columns):
        for j in range(i + 1, len(columns)):
            cells = np.bincount(
                (first * sizes[j] + columns[j]) * labels + y, minlength=sizes[i] * sizes[j] * labels
            ).reshape(-1, labels)
            met = np.flatnonzero(cells.any(axis=1))
            tables[i, j] = PairCounts(first=met // sizes[j], second=met % sizes[j], counts=cells[met])
    return tables


def _codes(column: pa.ChunkedArray, domain: Domain) -> NDArray[np.int64]:
    """The code of each row; in a discretised domain that of the range a number falls into."""
    if not domain.discretised:
        return codes_in(column, domain)
    present, values = to_numpy(column, domain.kind)
    codes = np.full(len(column), len(domain.values), dtype=np.int64)
    codes[present] = np.maximum(np.searchsorted(domain.values, values, side="right") - 1, 0)
    return codes


def _ask_pairs(coded: ir.Table, attributes: int, width: int, labels: int) -> pa.Table:
    """How often each two cells (an attribute and its value) occur in one row, with each label."""
    cells = [coded[f"c{i}"] + i * width for i in range(attributes)]
    lines = coded.select("r", "y", cell=ibis.array(cells).unnest())
    with lines.cache() as cached:
        other = cached.view()
        met = cached.join(other, [cached.r == other.r, cached.cell < other.cell])
        keys = met.select(k=(cached.cell * (attributes * width) + other.cell) * labels + cached.y)
        return ask(keys.group_by("k").aggregate(n=ibis._.count()))


def _decoded(answer: pa.Table, attributes: int, width: int, labels: int) -> dict[tuple[int, int], PairCounts]:
    """The counted keys as one table per pair of attributes."""
    keys, counts = plain(answer["k"]), plain(answer["n"])
    cell, other = np.divmod(keys // labels, attributes * width)
    first, second = cell // width, other // width
    pair = first * attributes + second
    place = (pair * width + cell % width) * width + other % width
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    line = np.cumsum(np.diff(place[order], prepend=-1) != 0) - 1
    table = np.zeros((len(starts), labels), dtype=np.int64)
    table[line, (keys % labels)[order]] = counts[order]
    heads = order[starts]
    ends = np.searchsorted(pair[heads], np.arange(attributes**2 + 1))
    return {
        (i, j): PairCounts(
            first=cell[heads[begin:end]] % width, second=other[heads[begin:end]] % width, counts=table[begin:end]
        )
        for i in range(attributes)
        for j in range(i + 1, attributes)
        for begin, end in [ends[i * attributes + j : i * attributes + j + 2]]
    }


def _sample(dataset: Dataset, counted: TableCounts, limits: PairLimits, seed: int) -> ir.Table:
    names = (*counted.joints, counted.label)
    if counted.rows <= limits.rows:
        return dataset.table.select(*names)
    # A little more than is needed, then cut: a Bernoulli sample has no fixed size.
    fraction = min(1.0, 1.05 * limits.rows / counted.rows)
    rows = dataset.rows
    if counted.rows >= _MANY_ROWS:
        # Some blocks of rows first, so that the others need not be read, then single rows of those.
        rows = dataset.some_blocks(one_in=max(1, int(1 / (_BLOCKS * fraction))), seed=seed)
        fraction = 1 / _BLOCKS
    return expression_of(sampled(rows.select(*names), fraction, seed=seed)).limit(limits.rows)


def _code(column: ir.Column, histogram: Histogram, groups: ValueGroups) -> ir.Column:
    """The group of each value of a column."""
    domain = histogram.domain
    values = len(domain.values)
    missing = int(groups.codes[values]) if domain.missing else 0
    codes = groups.codes[:values]
    whole = domain.kind in (Kind.INTEGER, Kind.BOOLEAN) and groups.exact
    if not values:
        code: Any = ibis.literal(missing)
    elif domain.kind is Kind.TEXT or whole:
        # Values that are groups of their own have the first codes, in order; all the others share the next.
        alone = domain.values[np.bincount(codes, minlength=groups.size)[codes] == 1]
        if domain.kind is Kind.BOOLEAN:  # not every engine casts a truth value to a number
            column = column.ifelse(1, 0)
        column = column if domain.kind is Kind.TEXT else column.cast("int64")
        listed = ibis.literal((alone.astype(np.int64) if whole else alone).tolist(), type=f"array<{column.type()}>")
        place = listed.index(column)
        code = (place < 0).ifelse(len(alone), place)
    else:
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        code = stepped(column, domain.values[starts].tolist(), codes[starts].tolist())
    return column.isnull().ifelse(missing, code).cast("int64")
