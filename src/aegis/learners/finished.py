"""A finished table among the candidates: nobody knows which of its rows are which records, so it tests itself."""

from __future__ import annotations

import numpy as np

from aegis.errors import DataError
from aegis.learners.candidate import Part
from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.sample import Sample
from aegis.learners.target import Codes, Places, Target


class FinishedTable:
    """A table from elsewhere, as a sample of its own rows.

    Its rows are split inside itself, in the proportion of the part that the race asks for: what a consumer who holds
    nothing but this table would measure. It is compared with the others without pairing, and its ``kind`` says so.
    """

    kind = "table"
    draws = 1

    def __init__(self, name: str, rows: Sample, judged_on: Sample) -> None:
        self.name = name
        self._rows = rows
        self._columns = {column: CodedColumn.of(rows.histograms[column].domain) for column in rows.codes}
        self._labels = _labels(name, rows, judged_on)
        self._classes = len(judged_on.label_domain.values)

    def __repr__(self) -> str:
        return f"FinishedTable({self._rows!r})"

    def split(self, part: Part, *, draw: int) -> Split:
        wanted = len(part.training) + len(part.testing)
        order = np.random.default_rng([self._rows.seed, part.number, draw]).permutation(self._rows.rows)[:wanted]
        cut = max(1, round(len(order) * len(part.testing) / wanted))
        testing, training = order[:cut], order[cut:]
        target = self._target(part.training_target.classes)
        return Split(
            columns=tuple(
                SplitColumn(described, training=_at(self._rows, name, training), testing=_at(self._rows, name, testing))
                for name, described in self._columns.items()
            ),
            target=target.at(training),
            test_rows=len(testing),
            own_target=target.at(testing),
        )

    def _target(self, classes: int) -> Target:
        if classes:
            return Target.of_classes(self._labels, self._classes)
        assert self._rows.label_numbers is not None
        return Target.of_numbers(self._rows.label_numbers)


def _at(rows: Sample, name: str, places: Places) -> Codes:
    return rows.codes[name][places]


def _labels(name: str, rows: Sample, judged_on: Sample) -> Places:
    """The label of each row among the classes of the table that the race is about."""
    codes = {value: code for code, value in enumerate(judged_on.label_domain.values.tolist())}
    own = rows.label_domain.values.tolist()
    if judged_on.looks_like_numbers:
        if rows.label_numbers is None:
            raise DataError(f"the label {rows.label!r} of {name} holds no numbers; give a table with the same label")
        return np.zeros(rows.rows, dtype=np.int64)
    if any(value not in codes for value in own):
        raise DataError(
            f"the label {rows.label!r} of {name} has values that the table does not have; give a table with the same "
            "label, not masked"
        )
    return np.array([codes[value] for value in own], dtype=np.int64)[rows.label_codes]
