"""The distinct tuples of a table as local recoding sees them: codes, records, and what is known of the labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from aegis.arrays import Floats, Ints
from aegis.candidates.boxes.gains import BY_BRANCH, BY_LABEL, BY_RANK, uncertainty_of_each
from aegis.candidates.boxes.terms import Growth, Held, Terms
from aegis.counts.class_table import ClassTable
from aegis.counts.content import Content
from aegis.counts.disclosure_rule import may_name
from aegis.counts.joint import check_classes, check_no_numbering
from aegis.data.domain import Domain, show
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.errors import LabelError

MOST_CLASSES = 50
FEW_NUMBERS = 20
"""A label of numbers or dates with more distinct values than these is cut by variance, with fewer by information."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BoxTuples:
    """What the compiled loops read. ``base`` says how codes are put in line and where each label stands in ``labels``.

    What a growth decides (weight, doubt and the least records) is zero in ``base``.
    """

    table: ClassTable
    columns: Ints  # a line of codes per column
    sizes: Ints
    labels: Floats
    base: Terms
    expects_labels: bool = False  # whether the labels are what learners expect, not the records' own

    def __repr__(self) -> str:
        return f"BoxTuples({self.table!r})"

    def held(self) -> Held:
        """The tuples as the compiled loops read them."""
        settled = uncertainty_of_each(self.labels, self.base.blocks, self.base.scales)
        return Held(columns=self.columns, sizes=self.sizes, labels=self.labels, settled=settled)

    def terms(self, growth: Growth, least: int) -> Terms:
        """What the compiled loops judge a cut by, where no part may have fewer than ``least`` records."""
        weight, doubt = float(growth.label_weight), float(growth.doubt_nats)
        return self.base._replace(weight=weight, doubt=doubt, least=int(least))


def box_tuples(
    table: ClassTable,
    labels: Sequence[str] = (),
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    by_branch: bool = False,
) -> BoxTuples:
    """Prepare a class table whose contents hold the labels; categories with a hierarchy are put in its order.

    With ``by_branch`` they are cut between its branches alone.
    """
    parts, blocks, scales = [], [], []
    first = 0
    for name in labels:
        if name not in table.contents:
            raise LabelError(f"the label {name!r} was not counted with the classes; count it among the contents")
        label_counts, classes = label_columns(table.contents[name], table.classes)
        parts.append(label_counts)
        blocks.append((first, label_counts.shape[1], classes))
        first += label_counts.shape[1]
        scales.append(whole_uncertainty(label_counts, classes))
    telling = sum(scale > 0 for scale in scales)
    orders = [_ranks(d, (hierarchies or {}).get(name)) for name, d in zip(table.columns, table.domains, strict=True)]
    domains = np.array([domain.size for domain in table.domains], dtype=np.int64)
    sizes = np.ascontiguousarray(table.sizes, dtype=np.int64)
    base = Terms(
        blocks=np.array(blocks, dtype=np.int64).reshape(-1, 3),
        scales=np.array([1.0 / (telling * scale) if scale > 0 else 0.0 for scale in scales]),
        ordered=np.array([is_ordered(domain) for domain in table.domains], dtype=np.int64),
        missing=np.array([len(d.values) if d.missing else -1 for d in table.domains], dtype=np.int64),
        domains=domains,
        ranks=np.concatenate([ranks for ranks, _, _ in orders]),
        rank_starts=np.concatenate([[0], np.cumsum(domains)]).astype(np.int64),
        by=np.array([BY_BRANCH if by == BY_RANK and by_branch else by for _, by, _ in orders], dtype=np.int64),
        depths=np.concatenate([depths for _, _, depths in orders]),
        weight=0.0,
        doubt=0.0,
        least=0,
        records=float(sizes.sum()) * max(len(table.columns), 1),
    )
    return BoxTuples(
        table=table,
        columns=np.ascontiguousarray(table.codes.T, dtype=np.int64),
        sizes=sizes,
        labels=np.ascontiguousarray(np.hstack(parts)) if parts else np.zeros((table.classes, 0)),
        base=base,
    )


def rare_values(table: ClassTable, column: str, k: int) -> frozenset[str]:
    """The values of a column that too few people of the table have to be named, k being what a policy asks for."""
    domain = table.domains[table.columns.index(column)]
    named = may_name(table.holders(column)[: len(domain.values)], at_least=k).tolist()
    return frozenset(show(value) for value, enough in zip(domain.values.tolist(), named, strict=True) if not enough)


def is_ordered(domain: Domain) -> bool:
    """Whether a column is cut along the order of its values."""
    return domain.kind.is_ordered


def is_of_numbers(domain: Domain) -> bool:
    """Whether a label is kept by its variance, and not as classes."""
    return domain.kind.is_ordered and len(domain.values) > FEW_NUMBERS


def label_columns(content: Content, classes: int) -> tuple[Floats, int]:
    """What each tuple holds of a label, and how many classes it has (0 for numbers); missing labels are left out."""
    domain = content.domain
    values = len(domain.values)
    owners = content.owners
    present = content.values < values
    if is_of_numbers(domain):
        numbers = label_numbers(domain)
        counts = content.counts[present].astype(np.float64)
        held = numbers[content.values[present]]
        centre = float(counts @ held / max(counts.sum(), 1.0))  # near zero, so that squares keep their digits
        sums = [counts, counts * (held - centre), counts * (held - centre) ** 2]
        return np.stack([np.bincount(owners[present], weights=s, minlength=classes) for s in sums], axis=1), 0
    if values > MOST_CLASSES:
        raise LabelError(f"a label of {values:,} classes cannot be kept predictable; at most {MOST_CLASSES} can")
    counted = np.zeros((classes, values))
    counted[owners[present], content.values[present]] = content.counts[present]
    return counted, values


def check_to_keep(label: str, content: Content) -> None:
    """Raise where boxes cannot keep this label predictable: it has one value, or another one in every row."""
    domain = content.domain
    values = len(domain.values)
    if values < 2:
        raise LabelError(f"the label {label!r} has fewer than two values; choose a column that varies")
    if content.totals[:values].max() > 1:
        return
    if is_of_numbers(domain):
        check_no_numbering(label, domain.kind, label_numbers(domain))
    else:
        check_classes(label, content.totals[:values])


def label_numbers(domain: Domain) -> Floats:
    """The values of an ordered domain as numbers, dates in days."""
    if domain.kind in (Kind.DATE, Kind.TIMESTAMP):
        return np.asarray(domain.values.astype("datetime64[s]").astype(np.int64) / 86_400.0)
    return domain.values.astype(np.float64)


def whole_uncertainty(label_counts: Floats, classes: int) -> float:
    """The uncertainty of the whole table."""
    totals = label_counts.sum(axis=0)
    if classes:
        held = totals[totals > 0]
        return float(held.sum() * np.log(held.sum()) - (held * np.log(held)).sum()) if len(held) > 1 else 0.0
    return float(max(totals[2] - totals[1] ** 2 / totals[0], 0.0)) if totals[0] > 0 else 0.0


def _ranks(domain: Domain, hierarchy: Hierarchy | None) -> tuple[Ints, int, Ints]:
    """The rank of each code, whether that comes from a hierarchy, and how far down it each rank and the next part."""
    if hierarchy is None or is_ordered(domain):
        return np.arange(domain.size, dtype=np.int64), BY_LABEL, np.zeros(domain.size, dtype=np.int64)
    ups = {row[0]: tuple(reversed(row)) for row in hierarchy.rows}
    shown = [show(value) for value in domain.values.tolist()]
    keys = [ups.get(value, ("\uffff", value)) for value in shown] + ([("\uffff\uffff",)] if domain.missing else [])
    order = sorted(range(domain.size), key=lambda code: keys[code])
    ranks = np.empty(domain.size, dtype=np.int64)
    ranks[order] = np.arange(domain.size)
    depths = np.zeros(domain.size, dtype=np.int64)
    for rank, (code, following) in enumerate(pairwise(order)):
        alike = [level == next_level for level, next_level in zip(keys[code], keys[following], strict=False)]
        depths[rank] = alike.index(False) if False in alike else len(alike)
    return ranks, BY_RANK, depths
