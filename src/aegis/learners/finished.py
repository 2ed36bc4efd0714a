"""A finished table among the candidates: it trains and real rows test it, wherever real rows can be put in its place.

Whatever such a table holds was chosen by whoever made it, its labels included, so that what it reaches on itself says
little: a table whose labels follow a rule reaches everything, one of copies meets its training rows again.

- Where each column holds values as real rows have them (synthetic, clustered and perturbed tables), in one list of
  codes with those of real rows (`shared_column`), it trains and the race's own test rows test it, with their true
  labels. Rows of it that equal rows of the source train where those are training rows and are left out where those are
  test rows. So do the others where the table is in the source's order, which its labels show; where it is not, they are
  taken in the same proportion.
- Where values are generalised (intervals, sets, stars), real rows cannot be asked about. In the source's order its rows
  are those of the records that the race asks for. Otherwise it is split inside itself; where it has more equal rows
  than the source has, equal rows lie on one side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain, show
from aegis.data.kind import DATES, NUMBERS, Kind
from aegis.errors import LabelError
from aegis.learners.candidate import FINISHED, Part
from aegis.learners.features import CodedColumn, Split, SplitColumn, as_numbers
from aegis.learners.sample import Sample
from aegis.learners.target import Codes, Floats, Places, Target
from aegis.plural import count

Integers = NDArray[np.integer]
MANY_COPIES = 0.05
"""From this share of its rows on, copies are kept on one side."""
OTHER_LABELS = 0.05
"""Labels whose shares lie further from the source's than this, and than chance would bring them, are other labels."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SharedColumn:
    """A column of a finished table (``finished``) and of real rows (``real``), both in the codes of ``described``."""

    described: CodedColumn
    finished: Codes
    real: Codes

    def __repr__(self) -> str:
        return f"SharedColumn({self.described!r})"


def shared_column(name: str, finished: Sample, real: Sample) -> SharedColumn | None:
    """The column in one list of codes, or None where it holds values that no real row can have.

    Numbers and dates may be any (noise, means of clusters). Categories have to be among those of the real rows, but for
    one that may stand for all that the table does not have ("other"). Intervals, sets and stars are neither.
    """
    coded = _shared_codes(finished.histograms[name].domain, real.histograms[name].domain)
    if coded is None:
        return None
    described, finished_codes, real_codes = coded
    return SharedColumn(
        described=described,
        finished=finished_codes[finished.codes[name]],
        real=real_codes[real.codes[name]],
    )


def _shared_codes(finished: Domain, real: Domain) -> tuple[CodedColumn, Codes, Codes] | None:
    """What the shared codes are, and the shared code of each own code; the last one of either is a missing value."""
    as_it_is = np.arange(len(real.values) + 1, dtype=np.int32)
    missing = as_it_is[-1:]
    described = CodedColumn.of(real, more=int(not real.missing))
    if not len(finished.values):
        return described, missing, as_it_is
    if real.kind is Kind.TEXT:
        code_of = {value: code for code, value in enumerate(real.values.tolist())}
        texts = [value if isinstance(value, str) else show(value) for value in finished.values.tolist()]
        strange = [text for text in texts if text not in code_of]
        if len(strange) > 1:
            return None
        other = len(as_it_is)
        own_codes = np.append([code_of.get(text, other) for text in texts], missing).astype(np.int32)
        if not strange:
            return described, own_codes, as_it_is
        absent = [value not in texts for value in code_of]
        real_codes = np.where([*absent, False], other, as_it_is).astype(np.int32)
        return CodedColumn.of(real, more=1 + (not real.missing)), own_codes, real_codes
    if not any({finished.kind, real.kind} <= kinds for kinds in (NUMBERS, DATES, {Kind.BOOLEAN})):
        return None
    own_numbers, real_numbers = _numbers(finished), _numbers(real)
    if real.discretised:  # a value stands for the range that starts there
        places = np.maximum(np.searchsorted(real_numbers, own_numbers, side="right") - 1, 0)
        return described, np.append(places, missing).astype(np.int32), as_it_is
    both = np.unique(np.concatenate([real_numbers, own_numbers]))
    codes = [
        np.append(np.searchsorted(both, numbers), len(both)).astype(np.int32) for numbers in (own_numbers, real_numbers)
    ]
    return CodedColumn(size=len(both) + 1, numbers=np.append(both, np.nan)), codes[0], codes[1]


def _numbers(domain: Domain) -> Floats:
    numbers = as_numbers(domain)
    assert numbers is not None, "numbers, dates and truth values have a number each"
    return numbers


def finished_table(name: str, rows: Sample, judged_on: Sample) -> FinishedTable | GeneralisedTable:
    """The candidate that suits a finished table: ``rows`` are its own, ``judged_on`` is the sample of the race."""
    shared = {column: shared_column(column, rows, judged_on) for column in rows.codes}
    real = {column: codes for column, codes in shared.items() if codes is not None}
    labels = _Labels(name, rows, judged_on)
    if len(real) == len(shared):
        return FinishedTable(name, real, labels)
    return GeneralisedTable(name, real, labels)


class FinishedTable:
    """A finished table whose values are values as real rows have them: it trains, and real rows test."""

    kind = FINISHED
    draws = 1
    doubt: str | None = None

    def __init__(self, name: str, columns: dict[str, SharedColumn], labels: _Labels) -> None:
        self.name = name
        self._columns = columns
        self._labels = labels
        self._seed = labels.own.seed
        self._own_rows, self._real_rows = _equal_rows(
            [column.finished for column in columns.values()] + [labels.own_keys],
            [column.real for column in columns.values()] + [labels.real_keys],
        )
        self._record = labels.same_order()

    def __repr__(self) -> str:
        return f"FinishedTable({self._labels.own!r})"

    @property
    def reason(self) -> str:
        return "a finished table: it trains and real rows test"

    def split(self, part: Part, *, draw: int) -> Split:
        training = self._training(part, np.random.default_rng([self._seed, part.number, draw]))
        return Split(
            columns=tuple(
                SplitColumn(column.described, training=column.finished[training], testing=column.real[part.testing])
                for column in self._columns.values()
            ),
            target=self._labels.target(part.training_target.classes).at(training),
            test_rows=len(part.testing),
            real_test_rows=True,
        )

    def _training(self, part: Part, rng: np.random.Generator) -> Places:
        """Which of its rows train: none that stands for a test row, as many at most as the part has training rows."""
        size = int(max(self._own_rows.max(), self._real_rows.max())) + 1
        trained, tested = (
            np.bincount(self._real_rows[rows], minlength=size).astype(np.float64)
            for rows in (part.training, part.testing)
        )
        elsewhere = trained + tested == 0
        trained[elsewhere], tested[elsewhere] = len(part.training), len(part.testing)
        share = (trained / (trained + tested))[self._own_rows]
        if self._record is not None:
            side = np.full(len(self._real_rows), len(part.training) / (len(part.training) + len(part.testing)))
            side[part.training], side[part.testing] = 1.0, 0.0
            share = np.where(elsewhere[self._own_rows], side[self._record], share)
        own = rng.permutation(len(self._own_rows))
        chosen = own[rng.random(len(own)) < share[own]]
        # Where every row equals a test row, nothing else is there to learn from.
        return (chosen if len(chosen) else own)[: len(part.training)]


class GeneralisedTable:
    """A finished table of generalised values: its own rows train and test.

    In the source's order they are those that the race asks for, with their labels. Otherwise it is split inside itself,
    in the proportion that the race asks for, and compared with the others without pairing. ``doubt`` says why it cannot
    be compared at all, if it cannot.
    """

    kind = FINISHED
    draws = 1

    def __init__(self, name: str, real: dict[str, SharedColumn], labels: _Labels) -> None:
        self.name = name
        self._rows = labels.own
        self._labels = labels
        self._columns = {column: CodedColumn.of(labels.own.histograms[column].domain) for column in labels.own.codes}
        self.copies = _more_copies(real, labels)
        together = self.copies > MANY_COPIES * self._rows.rows
        columns: list[Integers] = [*self._rows.codes.values(), labels.own_keys]
        self._equal = _numbered(columns) if together else np.arange(self._rows.rows)
        record = None if together else labels.same_order()
        self._row_of = None if record is None else np.argsort(record)

    def __repr__(self) -> str:
        return f"GeneralisedTable({self._rows!r})"

    @property
    def doubt(self) -> str | None:
        apart = self._labels.apart()
        if apart <= OTHER_LABELS + 1.0 / math.sqrt(self._rows.rows):
            return None
        return (
            f"the shares of its labels are {100 * apart:.0f} points away from the source's, and it is tested on its "
            "own labels: what it reaches says nothing of the source's"
        )

    @property
    def reason(self) -> str:
        if self._row_of is not None:
            return (
                "a finished table of generalised values in the source's order, tested by the rows of the same records"
            )
        said = "a finished table of generalised values, split inside itself"
        if self.copies > MANY_COPIES * self._rows.rows:
            said += f"; {count(self.copies, 'row')} more than in the source are copies of others, kept on one side"
        return said

    def split(self, part: Part, *, draw: int) -> Split:
        if self._row_of is not None:
            return self._of(self._row_of[part.training], self._row_of[part.testing], part, own_labels=False)
        rng = np.random.default_rng([self._rows.seed, part.number, draw])
        order = rng.permutation(int(self._equal.max()) + 1)[self._equal]
        rows = np.argsort(order, kind="stable")  # equal rows stand side by side
        wanted = len(rows) * len(part.testing) / (len(part.training) + len(part.testing))
        between = np.flatnonzero(np.diff(order[rows])) + 1  # labels vary, so there are two different rows at least
        cut = between[np.abs(between - wanted).argmin()]
        testing = rng.permutation(rows[:cut])[: len(part.testing)]
        training = rng.permutation(rows[cut:])[: len(part.training)]
        return self._of(training, testing, part, own_labels=True)

    def _of(self, training: Places, testing: Places, part: Part, *, own_labels: bool) -> Split:
        target = self._labels.target(part.training_target.classes)
        return Split(
            columns=tuple(
                SplitColumn(
                    described, training=self._rows.codes[name][training], testing=self._rows.codes[name][testing]
                )
                for name, described in self._columns.items()
            ),
            target=target.at(training),
            test_rows=len(testing),
            own_target=target.at(testing) if own_labels else None,
        )


class _Labels:
    """The labels of a finished table beside those of the sample that the race is about."""

    def __init__(self, name: str, own: Sample, real: Sample) -> None:
        self.name, self.own, self.real = name, own, real
        self.own_codes = self._in_classes()
        if self.own_codes is not None:
            self.own_keys, self.real_keys = self.own_codes, real.label_codes.astype(np.int64)
        else:
            assert own.label_numbers is not None
            assert real.label_numbers is not None
            both = np.unique(np.concatenate([own.label_numbers, real.label_numbers]))
            self.own_keys = np.searchsorted(both, own.label_numbers)
            self.real_keys = np.searchsorted(both, real.label_numbers)

    def _in_classes(self) -> Places | None:
        """The label of each row among the classes of the race; None where only numbers can be predicted."""
        code_of = {value: code for code, value in enumerate(self.real.label_domain.values.tolist())}
        values = self.own.label_domain.values.tolist()
        if all(value in code_of for value in values):
            return np.array([code_of[value] for value in values], dtype=np.int64)[self.own.label_codes]
        if not self.real.looks_like_numbers:
            raise LabelError(
                f"the label {self.own.label!r} of {self.name} has values that the table does not have; give a table "
                "with the same label, not masked"
            )
        if self.own.label_numbers is None:
            raise LabelError(
                f"the label {self.own.label!r} of {self.name} holds no numbers; give a table with the same label"
            )
        return None

    def target(self, classes: int) -> Target:
        """The label of every row as the race predicts it."""
        if not classes:
            assert self.own.label_numbers is not None
            return Target.of_numbers(self.own.label_numbers)
        if self.own_codes is None:
            raise LabelError(
                f"the label {self.own.label!r} of {self.name} has values that the table does not have, so that they "
                "are no classes of it; use r2 or mae"
            )
        return Target.of_classes(self.own_codes, classes)

    def same_order(self) -> Places | None:
        """Which row of the sample each row is, where all rows of both are here and have their labels place by place."""
        own, real = self.own.positions, self.real.positions
        if own is None or real is None or len(own) != len(real) or self.own.table_rows != self.real.table_rows:
            return None
        record_at = np.full(self.real.table_rows, -1, dtype=np.int64)
        record_at[real] = np.arange(len(real))
        record = record_at[own]
        if (record < 0).any() or (self.own_keys != self.real_keys[record]).any():
            return None
        return record

    def apart(self) -> float:
        """How far the shares of the labels lie from the source's: half the sum of the differences, for numbers the
        largest difference of the shares up to one of them."""
        size = int(max(self.own_keys.max(), self.real_keys.max())) + 1
        own, real = (np.bincount(keys, minlength=size) / len(keys) for keys in (self.own_keys, self.real_keys))
        if self.real.looks_like_numbers:
            return float(np.abs(np.cumsum(own - real)).max())
        return float(np.abs(own - real).sum() / 2)


def _more_copies(columns: dict[str, SharedColumn], labels: _Labels) -> int:
    """How many rows more than in the source equal another row, by the label and the columns that are not generalised.

    Masking makes none of these equal.
    """
    rows = min(labels.own.rows, labels.real.rows)
    own = _numbered([column.finished[:rows] for column in columns.values()] + [labels.own_keys[:rows]])
    real = _numbered([column.real[:rows] for column in columns.values()] + [labels.real_keys[:rows]])
    more = int(real.max()) - int(own.max())
    return max(0, round(more * labels.own.rows / rows))


def _equal_rows(own: Sequence[Integers], real: Sequence[Integers]) -> tuple[Places, Places]:
    """A number for each row of two tables, the same for rows that are equal."""
    both = _numbered([np.concatenate([first, second]) for first, second in zip(own, real, strict=True)])
    return both[: len(own[0])], both[len(own[0]) :]


def _numbered(columns: Sequence[Integers]) -> Places:
    """A number for each row, the same for rows that are equal."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        pair = number * (int(column.max()) + 1) + column
        number = np.unique(pair, return_inverse=True)[1].astype(np.int64)
    return number
