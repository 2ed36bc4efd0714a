"""Records that must not be singled out: the rows of failing classes, starred or left out."""

from __future__ import annotations

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from aegis.counts.class_table import ClassTable
from aegis.counts.grouping import Codes, group_rows
from aegis.data.lookup_table import lookup_table
from aegis.masking.masks.suppress import STAR


def suppressed_classes(before: ClassTable, after: ClassTable) -> Codes:
    """The codes of the classes of ``before`` that ``after`` no longer publishes as they were."""
    kept = after.codes[: after.classes - after.star]
    sizes = [domain.size for domain in before.domains]
    _, group = group_rows(np.concatenate([kept, before.codes]), sizes)
    published = np.zeros(int(group.max(initial=-1)) + 1, dtype=bool)
    published[group[: len(kept)]] = True
    return np.asarray(before.codes[~published[group[len(kept) :]]])


def with_suppression(table: ir.Table, before: ClassTable, after: ClassTable, *, drop: bool) -> ir.Table:
    """``table`` with the records of suppressed classes starred in every quasi-identifier, or dropped.

    A star is a text, so the quasi-identifiers become texts as soon as one record is starred.
    """
    codes = suppressed_classes(before, after)
    if not len(codes):
        return table
    columns = {}
    for position, domain in enumerate(before.domains):
        values = [*domain.values.tolist(), None]
        kind = table.schema()[before.columns[position]].to_pyarrow()
        columns[f"_aegis_q{position}"] = pa.array([values[code] for code in codes[:, position].tolist()], kind)
    columns["_aegis_starred"] = pa.array([True] * len(codes))
    failing = lookup_table(table.get_backend(), pa.table(columns))
    matches = [table[name].identical_to(failing[f"_aegis_q{position}"]) for position, name in enumerate(before.columns)]
    joined = table.left_join(failing, matches)
    starred = joined["_aegis_starred"].notnull()
    if drop:
        return joined.filter(~starred).select(*table.columns)
    masked = {name: starred.ifelse(STAR, joined[name].cast("string")) for name in before.columns}
    return joined.mutate(**masked).select(*table.columns)
