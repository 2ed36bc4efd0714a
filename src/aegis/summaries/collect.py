"""Rows to counts: the only place that asks an engine to GROUP BY.

Each attribute is counted with the label once. Every configuration after that is a merge of those counts, so this is
where the cost of the advisor lies, and it does not depend on how many configurations there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ibis
import numpy as np
import pyarrow as pa
from ibis.expr.operations import InMemoryTable
from numpy.typing import NDArray

from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.kind import Kind, Values
from aegis.data.schema import Role
from aegis.errors import DataError, EngineError, LabelError
from aegis.summaries.joint import Histogram, Joint

if TYPE_CHECKING:
    import ibis.expr.types as ir

Progress = Callable[[int, int, str], None]
"""Called with how many are done, of how many, and what is being done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Up to how many distinct values a domain is exact; numbers and times beyond are discretised by the engine."""

    numbers: int = 5_000
    texts: int = 20_000
    bins: int = 512
    label_classes: int = 50
    peek_rows: int = 25_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """One pass over a table: each attribute with the label, and why some columns were left out."""

    rows: int
    label: str
    label_histogram: Histogram
    joints: Mapping[str, Joint]
    skipped: Mapping[str, str]


def count_joints(
    dataset: Dataset,
    *,
    label: str,
    label_bins: int | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Counted:
    """Count every attribute of ``dataset`` with ``label``; identifying columns are not attributes."""
    limits = limits or Limits()
    label_column, label_histogram = _label(dataset, label, label_bins, limits)
    attributes = [c for c in dataset.schema if c.name != label and dataset.roles.get(c.name) is not Role.IDENTIFYING]
    if not attributes:
        raise DataError(f"{dataset.name} has no attribute beside the label; add a column or take a role away")
    skipped = {
        column.name: "identifying: never counted"
        for column in dataset.schema
        if dataset.roles.get(column.name) is Role.IDENTIFYING and column.name != label
    }
    large = _large(dataset, [c.name for c in attributes], limits)
    joints: dict[str, Joint] = {}
    for done, column in enumerate(attributes):
        if progress is not None:
            progress(done, len(attributes), column.name)
        joint = _joint(dataset, column.name, column.kind, label_column, label_histogram.domain, limits, large)
        if joint is None:
            skipped[column.name] = f"more than {limits.texts:,} distinct texts: not counted"
        else:
            joints[column.name] = joint
    if progress is not None:
        progress(len(attributes), len(attributes), "done")
    if not joints:
        raise DataError(f"no column of {dataset.name} can be counted: all have too many distinct texts")
    return Counted(
        rows=int(label_histogram.counts.sum()),
        label=label,
        label_histogram=label_histogram,
        joints=joints,
        skipped=skipped,
    )


def count_histograms(dataset: Dataset, columns: Sequence[str], *, limits: Limits | None = None) -> dict[str, Histogram]:
    """Count some columns alone, for masks that read edges, ranges or categories off the data."""
    limits = limits or Limits()
    large = _large(dataset, columns, limits) if columns else set()
    histograms = {}
    for name in columns:
        kind = dataset.schema.kind(name)
        found = None
        if name not in large or not kind.is_number:
            found = _histogram(dataset, dataset.table[name], kind, _limit(kind, limits) if kind.is_number else 10**9)
        if found is None:
            found = _histogram(
                dataset, _binned(dataset, dataset.table[name], kind, limits.bins), kind, 10**9, discretised=True
            )
        assert found is not None
        histograms[name] = found
    return histograms


def _label(dataset: Dataset, label: str, bins: int | None, limits: Limits) -> tuple[ir.Column, Histogram]:
    """The label as it is counted, with its histogram, or the reason why it cannot be a label."""
    if label not in dataset.schema:
        raise LabelError(f"there is no column {label!r}; the columns are {', '.join(dataset.schema.names)}")
    kind = dataset.schema.kind(label)
    column = dataset.table[label]
    if bins is not None:
        if not kind.is_number:
            raise LabelError(f"the label {label!r} holds {kind}, not numbers: leave out its bins")
        if bins < 2:
            raise LabelError("a label needs at least 2 bins")
        column = _binned(dataset, column, kind, bins)
    histogram = _histogram(dataset, column, kind, limits.texts, discretised=bins is not None)
    if histogram is None:
        raise LabelError(f"the label {label!r} has more than {limits.texts:,} distinct values: it names no classes")
    if not len(histogram.counts):
        raise DataError(f"{dataset.name} has no rows; give a table with some")
    if not len(histogram.domain.values):
        raise LabelError(f"the label {label!r} is missing in every row; choose another column")
    if histogram.domain.size == 1:
        raise LabelError(f"the label {label!r} has the same value in every row; choose a column that varies")
    if kind.is_number and len(histogram.domain.values) > limits.label_classes:
        raise LabelError(
            f"the label {label!r} looks continuous ({len(histogram.domain.values):,} distinct numbers); "
            "cut it into classes, for example with --label-bins 4"
        )
    return column, histogram


def _histogram(
    dataset: Dataset, column: ir.Column, kind: Kind, limit: int, *, discretised: bool = False
) -> Histogram | None:
    counted = dataset.table.select(a=column).group_by("a").aggregate(n=ibis._.count()).limit(limit + 2)
    answer = ask(counted)
    if len(answer) > limit + 1:
        return None
    domain, codes = encode(answer["a"], kind, discretised=discretised)
    counts = np.zeros(domain.size, dtype=np.int64)
    np.add.at(counts, codes, answer["n"].to_numpy())
    return Histogram(domain=domain, counts=counts)


def _large(dataset: Dataset, names: Sequence[str], limits: Limits) -> set[str]:
    """Columns whose first rows already hold more distinct values than their limit: never group these by value."""
    peek = dataset.table.select(*names).limit(limits.peek_rows)
    distinct = ask(peek.aggregate([peek[name].nunique().name(f"c{i}") for i, name in enumerate(names)]))
    return {
        name for i, name in enumerate(names) if distinct[f"c{i}"][0].as_py() > _limit(dataset.schema.kind(name), limits)
    }


def _limit(kind: Kind, limits: Limits) -> int:
    return limits.numbers if kind.is_number else limits.texts


def _joint(
    dataset: Dataset,
    name: str,
    kind: Kind,
    label: ir.Column,
    label_domain: Domain,
    limits: Limits,
    large: set[str],
) -> Joint | None:
    column = dataset.table[name]
    limit = _limit(kind, limits)
    if name not in large:
        joint = _counted_joint(dataset, column, kind, label, label_domain, limit, discretised=False)
        if joint is not None:
            return joint
    if not kind.is_ordered:
        return None
    return _counted_joint(
        dataset, _binned(dataset, column, kind, limits.bins), kind, label, label_domain, limit, discretised=True
    )


def _counted_joint(
    dataset: Dataset,
    column: ir.Column,
    kind: Kind,
    label: ir.Column,
    label_domain: Domain,
    limit: int,
    *,
    discretised: bool,
) -> Joint | None:
    pairs = dataset.table.select(a=column, y=label)
    most = (limit + 1) * label_domain.size
    answer = ask(pairs.group_by(["a", "y"]).aggregate(n=ibis._.count()).limit(most + 1))
    domain, rows = encode(answer["a"], kind, discretised=discretised)
    if domain.size > limit + 1 or len(answer) > most:
        return None
    columns = codes_in(answer["y"], label_domain)
    counts = np.zeros((domain.size, label_domain.size), dtype=np.int64)
    counts[rows, columns] = answer["n"].to_numpy()
    return Joint(attribute=domain, label=label_domain, counts=counts)


def _binned(dataset: Dataset, column: ir.Column, kind: Kind, bins: int) -> ir.Column:
    """The column with each value replaced by the start of its bin; bins hold about equally many records."""
    if kind is Kind.DATE or kind is Kind.TIMESTAMP:
        return column.truncate("M").cast("date" if kind is Kind.DATE else "timestamp")
    shares = [i / bins for i in range(bins)]
    summary = dataset.table.aggregate(
        least=column.min(), **{f"q{i}": column.approx_quantile(share) for i, share in enumerate(shares) if i}
    )
    answer = ask(summary)
    starts = [v for name in answer.column_names if (v := answer[name][0].as_py()) is not None]
    if not starts:
        return column
    dtype = "int64" if kind is Kind.INTEGER else "float64"
    edges = np.unique(np.asarray(starts, dtype=np.float64).astype(dtype))
    return stepped(column, edges.tolist(), edges.tolist())


def stepped(column: ir.Column, edges: Sequence[Any], results: Sequence[Any]) -> Any:
    """``results[i]`` for values from ``edges[i]`` up to the next edge: a balanced tree of comparisons."""
    if len(edges) == 1:
        return column.isnull().ifelse(ibis.null(), ibis.literal(results[0]))
    half = len(edges) // 2
    return (column < edges[half]).ifelse(
        stepped(column, edges[:half], results[:half]), stepped(column, edges[half:], results[half:])
    )


def ask(expression: ir.Table) -> pa.Table:
    """Run a query; what an engine says when it fails may quote data, so only its kind is passed on."""
    try:
        backend = expression.get_backend()
        if backend.name == "duckdb" and not expression.op().find(InMemoryTable):
            # The short way: Ibis would import pandas to convert what needs no converting.
            return backend.raw_sql(backend.compile(expression)).to_arrow_table()
        return expression.to_pyarrow()
    except KeyboardInterrupt:
        raise
    except Exception as error:
        raise EngineError(
            f"the engine could not answer ({type(error).__name__}); check that the table is still there and readable"
        ) from None


def encode(column: pa.ChunkedArray, kind: Kind, *, discretised: bool = False) -> tuple[Domain, NDArray[np.int64]]:
    """The domain of a column of grouped values, and the code of each."""
    packed = column.combine_chunks().dictionary_encode()  # hashing in Arrow: sorting texts in numpy is slow
    _, found = to_numpy(packed.dictionary, kind)
    distinct, rank = np.unique(found, return_inverse=True)
    missing = packed.indices.null_count > 0
    indices = packed.indices.fill_null(len(found)).to_numpy(zero_copy_only=False)
    codes = np.append(rank, len(distinct))[indices].astype(np.int64)
    return Domain(kind=kind, values=distinct, missing=missing, discretised=discretised), codes


def codes_in(column: pa.ChunkedArray, domain: Domain) -> NDArray[np.int64]:
    """The code of each value in a domain that is known already."""
    present, values = to_numpy(column, domain.kind)
    codes = np.full(len(column), len(domain.values), dtype=np.int64)
    codes[present] = domain.codes(values)
    return codes


def to_numpy(column: pa.ChunkedArray, kind: Kind) -> tuple[NDArray[np.bool_], Values]:
    """Which entries are present, and their values in the kind's own type."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    present = np.asarray(column.is_valid())
    known = column.drop_null()
    if kind is Kind.TEXT:
        values = np.asarray(known.cast(pa.string()).to_pylist(), dtype=object)
    else:
        values = known.to_numpy(zero_copy_only=False).astype(kind.dtype)
    return present, values
