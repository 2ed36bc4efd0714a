"""One stated sample of a table's rows, as small integers: what the learners judge candidates on.

It holds rows, so it stays on the provider's side; scores travel, rows do not. The engine draws it, and nothing else of
the table is pulled. The order of the rows is a shuffle that depends on their content and the seed alone, so that every
beginning of the sample is a sample too, and an engine may hand them over as it likes.

Where goals count labels alike and one is rare, part of the sample are further rows of it. Balanced accuracy and AUC do
not depend on how common a label is among the rows that test, so these may hold more rows of a rare one than the table's
share. What is learnt must come from rows as the table has them, or models would take the rare label to be common. So a
part of the sample is drawn whatever the label is, trains and tests; the other part are rows of rare labels, which only
test.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.counts.answer import ask, codes_in, count_rows, encode, plain, to_numpy
from aegis.counts.joint import Histogram, check_no_numbering
from aegis.data.dataset import Dataset, expression_of, sampled
from aegis.data.domain import Domain
from aegis.data.kind import DATES, Kind
from aegis.data.schema import Role
from aegis.errors import DataError, InputError, LabelError
from aegis.learners.goal import GOALS
from aegis.learners.target import Codes, Floats, Places, Target

AT_RANDOM = 0.7
"""At least this share of the sample is drawn whatever the label is: models learn from these rows alone."""
WORTH_IT = 0.8
"""Rows are drawn by label where the variance that rows leave comes down to this share of what it is without."""
_STEPS = 60
MOST_ROWS = 20_000
FEW_ROWS, LEAST_ROWS = 200, 30
MOST_CLASSES = 50
FEW_NUMBERS = 20
"""Numbers and dates with more distinct values than these are predicted as numbers, with fewer as classes."""
_SAMPLED = 1.2  # a sample has no fixed size: a few more rows than are wanted
_MANY_ROWS = 1_000_000  # enough blocks of them that a few are a fair sample
_BLOCKS = 3  # times as many rows as are needed lie in the blocks that are read


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Drawing:
    """How many rows of each label are drawn: ``at_random`` those that come whatever the label is, ``wanted`` all."""

    domain: Domain
    in_table: Floats
    at_random: Floats
    wanted: Floats

    def __repr__(self) -> str:
        return f"Drawing({self.at_random.sum():.0f} of {self.wanted.sum():.0f} rows at random)"

    @classmethod
    def of(cls, label: Histogram, *, most_rows: int) -> Self | None:
        """How ``most_rows`` are drawn best for a label as it was counted; None where drawing at random does as well.

        >>> rare = Histogram(domain=Domain.of(Kind.TEXT, ["no", "yes"]), counts=np.array([97_000, 3_000]))
        >>> Drawing.of(rare, most_rows=20_000)
        Drawing(17526 of 20000 rows at random)
        """
        domain = label.domain
        if domain.kind not in (Kind.INTEGER, Kind.TEXT, Kind.BOOLEAN) or domain.discretised:
            return None  # whether a value is that of a class is asked of the engine, which these answer exactly
        in_table = label.counts[: len(domain.values)].astype(np.float64)
        if len(in_table) < 2 or in_table.min() <= 0 or in_table.sum() <= most_rows:
            return None
        shares = in_table / in_table.sum()

        def wanted(rows: float, level: float) -> Floats:
            """Rows at random, and so many more of each label that it comes to ``level``, if the table has them."""
            return np.maximum(shares * rows, np.minimum(in_table, level))

        rows = _largest(lambda rows: wanted(rows, rows * shares.max()).sum() <= most_rows, most_rows)
        level = rows * shares.max()
        if rows < AT_RANDOM * most_rows:
            rows = AT_RANDOM * most_rows
            level = _largest(lambda level: wanted(rows, level).sum() <= most_rows, rows)
        found = np.floor(wanted(rows, level))
        if (1.0 / found).sum() > WORTH_IT * (1.0 / (most_rows * shares)).sum():
            return None
        return cls(domain=domain, in_table=in_table, at_random=np.round(shares * rows), wanted=found)

    @property
    def share_at_random(self) -> float:
        """The share of all rows that is drawn whatever their label is."""
        return float(self.at_random.sum() / self.in_table.sum())

    @property
    def rare_shares(self) -> dict[Any, float]:
        """The share of its rows that is drawn of each value that has further ones."""
        rare = np.flatnonzero(self.wanted > self.at_random + 1.0)
        values, shares = self.domain.values.tolist(), self.wanted / self.in_table
        return {values[label]: float(shares[label]) for label in rare}

    def arranged(self, order: Places, label_codes: Codes, label_domain: Domain) -> tuple[Places, int]:
        """Rows in their ``order``, those that stand for the table before the further ones; how many these are."""
        class_of = np.searchsorted(self.domain.values, label_domain.values)
        labels = class_of[label_codes[order]]
        place = np.empty(len(order), dtype=np.int64)  # which of its label a row is
        for label in range(len(self.wanted)):
            of_label = labels == label
            place[of_label] = np.arange(of_label.sum())
        at_random = place < self.at_random[labels]
        further = ~at_random & (place < self.wanted[labels])
        return np.concatenate([order[at_random], order[further]]), int(further.sum())


def _largest(holds: Callable[[float], bool], most: float) -> float:
    """The largest number up to ``most`` for which something holds that holds for small ones."""
    low, high = 0.0, most
    if holds(high):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Sample:
    """``codes[name][i]`` is the code of row i in ``histograms[name].domain``; the label is known in every row.

    The histograms are those of the whole table where it was counted: masks read their edges and ranges off them.
    ``label_numbers`` is None where the label is a text or a truth value. ``table_rows`` is how many rows the table has,
    ``rows_without_label`` how many of those drawn were left out. ``positions`` says where each row stands in the table
    as the engine reads it, where all of it was read. The last ``further`` rows are of rare labels alone: they may test
    and nothing is learnt from them; ``rows`` are those before, drawn whatever their label is.
    """

    label: str
    label_domain: Domain
    label_codes: Codes
    label_numbers: Floats | None
    histograms: Mapping[str, Histogram]
    codes: Mapping[str, Codes]
    table_rows: int
    rows_without_label: int
    seed: int
    notes: tuple[str, ...] = field(default=())
    positions: Places | None = None
    further: int = 0

    def __repr__(self) -> str:
        return f"Sample({self.rows} of {self.table_rows} rows, {len(self.codes)} columns)"

    @property
    def rows(self) -> int:
        return len(self.label_codes) - self.further

    def target(self, goal: str | None = None) -> Target:
        """The label as a goal asks for it: classes or numbers; by its kind where no goal is named."""
        as_numbers = self.looks_like_numbers if goal is None else GOALS[goal].for_numbers
        if as_numbers:
            if self.label_numbers is None:
                kind = self.label_domain.kind  # numbers that were cut into classes keep theirs
                holds = "was cut into classes" if kind.is_ordered else f"holds {kind}"
                raise LabelError(
                    f"the goal {goal!r} needs a label of numbers and {self.label!r} {holds}; "
                    "use accuracy, balanced-accuracy, auc or log-loss"
                )
            check_no_numbering(self.label, self.label_domain.kind, self.label_numbers)
            return Target.of_numbers(self.label_numbers)
        classes = len(self.label_domain.values)
        if classes > MOST_CLASSES:
            advice = "cut it into classes, for example with --label-bins 4, or use r2 or mae"
            if self.label_domain.kind in DATES:  # bins are for numbers
                advice = "use r2 or mae"
            if self.label_numbers is None:
                advice = "choose a column of fewer classes"
            raise LabelError(
                f"the label {self.label!r} has {classes:,} distinct values and at most {MOST_CLASSES} classes can be "
                f"learnt; {advice}"
            )
        return Target.of_classes(self.label_codes, classes)

    @property
    def looks_like_numbers(self) -> bool:
        """Whether the label is predicted as a number unless a goal says otherwise."""
        return self.label_numbers is not None and len(self.label_domain.values) > FEW_NUMBERS


def draw_sample(
    dataset: Dataset,
    *,
    label: str,
    histograms: Mapping[str, Histogram] | None = None,
    label_domain: Domain | None = None,
    most_rows: int = MOST_ROWS,
    rare_labels_of: Histogram | None = None,
    seed: int = 0,
) -> Sample:
    """Draw at most ``most_rows`` rows with their label.

    ``histograms`` are the columns that were counted, by name; without them every column that is not identifying is
    read, and masks know only the values of the sample. ``label_domain`` is the label's where it was cut into bins.
    ``rare_labels_of`` is the label as it was counted: where it is given, rare labels have further rows.
    """
    if label not in dataset.schema:
        raise LabelError(f"there is no column {label!r}; the columns are {', '.join(dataset.schema.names)}")
    if most_rows < LEAST_ROWS:
        raise InputError(f"a sample needs at least {LEAST_ROWS} rows; raise the limit")
    names = list(histograms) if histograms is not None else _columns(dataset, label)
    if not names:
        raise DataError(f"{dataset.name} has no usable column beside the label; add a column or take a role away")
    rows = _table_rows(dataset, histograms)
    drawing = None
    if rare_labels_of is not None and rows > _SAMPLED * most_rows:
        drawing = Drawing.of(rare_labels_of, most_rows=most_rows)
    if drawing is None:
        answer = _drawn(dataset, [label, *names], rows=rows, most_rows=most_rows, seed=seed)
    else:
        answer = _drawn_by_label(dataset, label, names, drawing, rows=rows, seed=seed)
    has_label = answer[label].is_valid()
    labelled = answer.filter(has_label)
    left_out = len(answer) - len(labelled)
    known_histograms = dict(histograms or {})
    codes: dict[str, Codes] = {}
    for name in names:
        if name in known_histograms:
            codes[name] = _codes(labelled[name], known_histograms[name].domain)
        else:
            domain, found = encode(labelled[name], dataset.schema.kind(name))
            known_histograms[name] = Histogram(domain=domain, counts=np.bincount(found, minlength=domain.size))
            codes[name] = found.astype(np.int32)
    kind = dataset.schema.kind(label)
    label_numbers = None
    if label_domain is None:
        label_domain, label_codes = _encoded_label(labelled[label], kind)
        label_numbers = _numbers(labelled[label], kind) if kind.is_ordered else None
    else:
        label_codes = _codes(labelled[label], label_domain)
    order, further = _shuffled([label_codes, *codes.values()], seed), 0
    if drawing is None:
        order = order[:most_rows]
    else:
        order, further = drawing.arranged(order, label_codes, label_domain)
    return checked(
        Sample(
            label=label,
            label_domain=label_domain,
            label_codes=label_codes[order],
            label_numbers=None if label_numbers is None else label_numbers[order],
            histograms=known_histograms,
            codes={name: column[order] for name, column in codes.items()},
            table_rows=rows,
            rows_without_label=left_out,
            seed=seed,
            positions=np.flatnonzero(plain(has_label))[order] if len(answer) == rows else None,
            further=further,
        )
    )


def checked(sample: Sample) -> Sample:
    """The sample with its notes, or the reason why nothing can be learnt from it."""
    values = len(sample.label_domain.values)
    if not sample.rows and sample.rows_without_label:
        raise LabelError(f"the label {sample.label!r} is missing in every row; choose another column")
    if sample.rows < LEAST_ROWS:
        raise DataError(
            f"{sample.rows} rows have a label and at least {LEAST_ROWS} are needed to train on some and test on "
            "others; give more rows, or rank from counts alone (advise --fast, summarize --no-race)"
        )
    if values < 2:
        raise LabelError(f"the label {sample.label!r} has the same value in every row; choose a column that varies")
    if not any(np.count_nonzero(counted.counts) > 1 for counted in sample.histograms.values()):
        raise DataError(
            "no column beside the label can be learnt from: each has the same value in every row; add one that varies"
        )
    if sample.label_numbers is None and values >= sample.rows:
        raise LabelError(
            f"the label {sample.label!r} has another value in every row, so no two rows are alike; choose a column of "
            "classes or numbers"
        )
    if sample.looks_like_numbers:
        assert sample.label_numbers is not None
        check_no_numbering(sample.label, sample.label_domain.kind, sample.label_numbers)
    notes = []
    if sample.rows_without_label:
        notes.append(f"{sample.rows_without_label:,} rows without a label are left out")
    if sample.rows < FEW_ROWS:
        all_drawn = sample.rows + sample.rows_without_label >= sample.table_rows
        what = f"only {sample.rows} rows have a label" if all_drawn else f"models learn from only {sample.rows} rows"
        notes.append(f"{what}: intervals are wide")
    object.__setattr__(sample, "notes", tuple(notes))
    return sample


def _columns(dataset: Dataset, label: str) -> list[str]:
    return [
        column.name
        for column in dataset.schema
        if column.name != label and dataset.roles.get(column.name) is not Role.IDENTIFYING
    ]


def _table_rows(dataset: Dataset, histograms: Mapping[str, Histogram] | None) -> int:
    rows = int(next(iter(histograms.values())).rows) if histograms else count_rows(dataset.rows)
    if rows == 0:
        raise DataError(f"{dataset.name} has no rows; give a table with some")
    return rows


def _drawn(dataset: Dataset, names: list[str], *, rows: int, most_rows: int, seed: int) -> pa.Table:
    wanted = _SAMPLED * most_rows
    if rows <= wanted:
        return ask(dataset.rows.select(*names))
    drawn, fraction = dataset.rows, wanted / rows
    if rows >= _MANY_ROWS:
        # Some blocks of rows first, so that the others need not be read, then single rows of those.
        drawn = dataset.some_blocks(one_in=max(1, int(1 / (_BLOCKS * fraction))), seed=seed)
        fraction = 1 / _BLOCKS
    return ask(sampled(drawn.select(*names), fraction, seed=seed))


def _drawn_by_label(
    dataset: Dataset, label: str, names: list[str], drawing: Drawing, *, rows: int, seed: int
) -> pa.Table:
    """Every row with the probability of its label, so that no row comes twice."""
    table, one_in = dataset.table, 1
    if rows >= _MANY_ROWS:
        one_in = max(1, int(1 / (_BLOCKS * _SAMPLED * max(drawing.rare_shares.values()))))
        table = expression_of(dataset.some_blocks(one_in=one_in, seed=seed))
    columns, rare = table.select(label, *names), drawing.rare_shares
    of_others = columns[label].isnull() | ~columns[label].isin(list(rare))
    answers = []
    for chosen, share in [(of_others, drawing.share_at_random), *((columns[label] == v, rare[v]) for v in rare)]:
        probability = _SAMPLED * share * one_in
        rows_of_label = columns.filter(chosen)
        answers.append(ask(rows_of_label if probability >= 1 else sampled(rows_of_label, probability, seed=seed)))
    return pa.concat_tables(answers)


def _codes(column: pa.ChunkedArray, domain: Domain) -> Codes:
    """The code of each row; in a discretised domain that of the range a number falls into."""
    if not domain.discretised:
        return codes_in(column, domain).astype(np.int32)
    present, values = to_numpy(column, domain.kind)
    codes = np.full(len(column), len(domain.values), dtype=np.int32)
    codes[present] = np.maximum(np.searchsorted(domain.values, values, side="right") - 1, 0)
    return codes


def _encoded_label(column: pa.ChunkedArray, kind: Kind) -> tuple[Domain, Codes]:
    domain, codes = encode(column, kind)
    return domain, codes.astype(np.int32)


def _numbers(column: pa.ChunkedArray, kind: Kind) -> Floats:
    """Numbers as they are, dates and times in days."""
    _, values = to_numpy(column, kind)
    if kind is Kind.DATE or kind is Kind.TIMESTAMP:
        return values.astype("datetime64[us]").astype(np.int64) / 86_400e6
    return values.astype(np.float64)


def _shuffled(columns: list[Codes], seed: int) -> NDArray[np.int64]:
    """An order that depends on what the rows hold and on the seed; rows that are alike may change places."""
    mixed = np.full(len(columns[0]), zlib.crc32(str(seed).encode()), dtype=np.uint64)
    for column in columns:
        mixed = _stirred(mixed, column)
    # Rows that are alike are told apart by which of them they are, or they would stand side by side.
    alike = np.argsort(mixed, kind="stable")
    begins = np.flatnonzero(np.diff(mixed[alike], prepend=mixed[alike][:1] + np.uint64(1)))
    which = np.empty(len(mixed), dtype=np.int64)
    which[alike] = np.arange(len(mixed)) - np.repeat(begins, np.diff(begins, append=len(mixed)))
    return np.argsort(_stirred(mixed, which), kind="stable")


def _stirred(mixed: NDArray[np.uint64], column: NDArray[np.integer]) -> NDArray[np.uint64]:
    stirred = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    stirred ^= stirred >> np.uint64(29)
    stirred *= np.uint64(0xBF58476D1CE4E5B9)
    return stirred ^ (stirred >> np.uint64(32))
