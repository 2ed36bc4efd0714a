"""Rows to equivalence classes: one GROUP BY over the quasi-identifiers and what is to be known of each class."""

from __future__ import annotations

from collections.abc import Sequence

import ibis
import numpy as np

from aegis.data.dataset import Dataset
from aegis.data.kind import Kind, Values
from aegis.errors import DataError, RoleError
from aegis.masking.suppress import STAR
from aegis.summaries.answer import ask, encode, plain
from aegis.summaries.class_table import ClassTable

_COUNT = "_aegis_count"


def count_classes(
    dataset: Dataset, columns: Sequence[str], *, contents: Sequence[str] = (), released: bool = False
) -> ClassTable:
    """Count the distinct tuples of ``columns``, with the values of each of ``contents`` in them.

    ``released`` says that the table was written by a release: records with ``*`` in every quasi-identifier are its
    suppressed ones and form one class.
    """
    if not columns:
        raise RoleError("no column is quasi-identifying; name some in the roles or the policy")
    for name in (*columns, *contents):
        dataset.schema.kind(name)  # says which columns there are if it is not one of them
    wanted = list(dict.fromkeys((*columns, *contents)))
    answer = ask(dataset.table.group_by(wanted).aggregate(**{_COUNT: ibis._.count()}))
    if not len(answer):
        raise DataError(f"{dataset.name} has no rows; give a table with some")
    # By columns, as class tables keep them, and written in place: copying a million tuples takes as long as judging.
    codes = np.empty((len(answer), len(columns)), dtype=np.int64, order="F")
    place = {name: codes[:, position] for position, name in enumerate(columns)}
    encoded = {name: encode(answer[name], dataset.schema.kind(name), out=place.get(name)) for name in wanted}
    suppressed = None
    if released and all(dataset.schema.kind(name) is Kind.TEXT for name in columns):
        starred = [_code_of_star(encoded[name][0].values) for name in columns]
        suppressed = (codes == np.array(starred)).all(axis=1)
        # Tuples that are all stars because every column is suppressed are one ordinary class.
        if all(encoded[name][0].size == 1 for name in columns):
            suppressed = None
    return ClassTable.from_codes(
        columns=tuple(columns),
        domains=[encoded[name][0] for name in columns],
        codes=codes,
        counts=plain(answer[_COUNT]),
        contents={name: encoded[name] for name in contents},
        suppressed=suppressed,
        encoded=True,
        overwrite=not set(columns) & set(contents),  # a column that is both is still to be read
    )


def _code_of_star(values: Values) -> int:
    found = np.flatnonzero(values == STAR)
    return int(found[0]) if len(found) else -2
