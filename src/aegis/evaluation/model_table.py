"""A table, and what an anonymizer makes of it, as models see them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aegis.arrays import Codes
from aegis.candidates.boxes.candidate import SplitRecoding
from aegis.counts.answer import ARROW_TYPES, encode
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain, show
from aegis.data.kind import DATES, Kind
from aegis.errors import DataError, LabelError
from aegis.privacy.policy import Policy

MOST_LABELS = 20
_TOO_MANY_TEXTS = 0.5  # distinct texts per record from which a column names records instead of describing them


class Refit(Protocol):
    """Columns that are made anew for every split, from its training rows alone."""

    @property
    def id(self) -> str:
        """What a cached result depends on beside the rows."""

    def take(self, rows: Codes) -> Refit:
        """The same with some of the rows."""

    def recoded(self, training: Codes) -> Mapping[str, tuple[Domain, Codes]]:
        """The columns of all rows, by a recoding that has seen the rows ``training`` only."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModelTable:
    """The attributes of one released table as codes of their domains; the label is not among them.

    ``tested`` holds the codes that test rows have instead, for the columns in which they differ. ``refit`` makes some
    columns anew for every split: those of a release that was fitted to the label, which would have seen test rows.
    """

    name: str
    domains: Mapping[str, Domain]
    codes: Mapping[str, Codes]
    tested: Mapping[str, Codes] = field(default_factory=dict)
    refit: Refit | None = None

    def __repr__(self) -> str:
        return f"ModelTable({self.name}: {len(self.domains)} attributes)"

    def take(self, rows: Codes) -> ModelTable:
        """The same table with some of its rows."""
        return replace(
            self,
            codes={name: codes[rows] for name, codes in self.codes.items()},
            tested={name: codes[rows] for name, codes in self.tested.items()},
            refit=None if self.refit is None else self.refit.take(rows),
        )

    def in_split(self, training: Codes, testing: Codes) -> ModelTable:
        """The table of one split: what is fitted is fitted on the rows ``training``."""
        if self.refit is None:
            return replace(self, codes=self.seen_by(testing), tested={})
        refitted = self.refit.recoded(training)
        return replace(
            self,
            domains={**self.domains, **{name: domain for name, (domain, _) in refitted.items()}},
            codes={**self.codes, **{name: codes for name, (_, codes) in refitted.items()}},
            refit=None,
        )

    def seen_by(self, testing: Codes) -> dict[str, Codes]:
        """The codes of a split in which the rows ``testing`` are tested on."""
        seen = dict(self.codes)
        for name, codes in self.tested.items():
            seen[name] = seen[name].copy()
            seen[name][testing] = codes[testing]
        return seen

    def fingerprint(self, label: Codes) -> str:
        """A short hash of everything a model could learn from."""
        digest = hashlib.sha256(np.ascontiguousarray(label).tobytes())
        for name, domain in self.domains.items():
            digest.update(repr((name, str(domain.kind), domain.labels())).encode())
            digest.update(np.ascontiguousarray(self.codes[name]).tobytes())
        for name, codes in self.tested.items():
            digest.update(f"tested {name}".encode() + np.ascontiguousarray(codes).tobytes())
        if self.refit is not None:
            digest.update(f"refit {self.refit.id}".encode())
        return digest.hexdigest()[:16]


def model_table(
    name: str, table: pa.Table, dataset: Dataset, *, leave: Sequence[str], keep: Sequence[str]
) -> tuple[ModelTable, tuple[str, ...]]:
    """Every column but some as codes, without texts that name records instead of describing them."""
    domains, codes, skipped = {}, {}, []
    for column in dataset.schema.names:
        if column in leave:
            continue
        domain, coded = encode(table[column], dataset.schema.kind(column))
        if (
            domain.kind is Kind.TEXT
            and len(domain.values) > max(40, _TOO_MANY_TEXTS * len(coded))
            and column not in keep
        ):
            skipped.append(column)
            continue
        domains[column], codes[column] = domain, coded
    return ModelTable(name=name, domains=domains, codes=codes), tuple(skipped)


def with_published(original: ModelTable, method: str, columns: pa.Table, *, raw: pa.Table | None) -> ModelTable:
    """The original with its quasi-identifiers as an anonymizer publishes them; test rows as in ``raw``, if given."""
    domains, codes, tested = dict(original.domains), dict(original.codes), {}
    for name in columns.column_names:
        kind, column = original.domains[name].kind, columns[name]
        if pa.types.is_string(column.type) and kind in DATES and _are_dates(column):  # clustered as categories
            column = column.cast(ARROW_TYPES[kind])
        elif pa.types.is_string(column.type):
            kind = Kind.TEXT
        elif kind.is_number and pa.types.is_floating(column.type):  # means of whole numbers
            kind = Kind.REAL
        if raw is None:
            domains[name], codes[name] = encode(column, kind)
            continue
        both = [part.combine_chunks().cast(column.type) for part in (column, raw[name])]
        domains[name], coded = encode(pa.chunked_array(both), kind)
        codes[name], tested[name] = coded[: len(column)], coded[len(column) :]
    return replace(original, name=method, domains=domains, codes=codes, tested=tested)


def split_recoding(
    original: ModelTable,
    label: tuple[str, Domain, Codes],
    quasi: Sequence[str],
    secrets: Sequence[str],
    policy: Policy,
    categorical: Sequence[str],
    *,
    seed: int,
) -> SplitRecoding:
    """The original columns, ready to be cut into boxes for the label on any of the rows."""
    name, label_domain, label_of_row = label
    coded = [_as_texts(original, column) if column in categorical else _own(original, column) for column in quasi]
    contents = {secret: _own(original, secret) for secret in secrets if secret != name}
    return SplitRecoding(
        columns=tuple(quasi),
        domains=tuple(domain for domain, _ in coded),
        codes=np.column_stack([codes for _, codes in coded]).astype(np.int64),
        label=name,
        contents={name: (label_domain, label_of_row), **contents},
        policy=policy,
        table_rows=len(label_of_row),
        seed=seed,
    )


def _own(table: ModelTable, column: str) -> tuple[Domain, Codes]:
    return table.domains[column], table.codes[column].astype(np.int64)


def _as_texts(table: ModelTable, column: str) -> tuple[Domain, Codes]:
    """A column of numbers as the texts they are written as."""
    domain, codes = _own(table, column)
    shown = [show(value) for value in domain.values.tolist()]
    texts = Domain.of(Kind.TEXT, sorted(shown), missing=domain.missing)
    place = {text: code for code, text in enumerate(texts.values.tolist())}
    change = np.array([*(place[text] for text in shown), *[len(shown)] * domain.missing], dtype=np.int64)
    return texts, change[codes]


def _are_dates(column: pa.ChunkedArray) -> bool:
    """Whether texts are single dates or times, not ranges of them."""
    return bool(pc.all(pc.match_substring_regex(column, r"^\d{4}-\d\d-\d\d")).as_py())


def label_codes(table: pa.Table, label: str, dataset: Dataset) -> tuple[Domain, Codes]:
    """The label as codes of its domain; a missing label, or too many different ones, are refused."""
    domain, codes = encode(table[label], dataset.schema.kind(label))
    if not len(codes):
        raise DataError("the table has no rows")
    if domain.missing:
        absent = int((codes == len(domain.values)).sum())
        raise LabelError(f"label {label!r} misses {absent} of {len(codes)} values: leave those records out first")
    if len(domain.values) > MOST_LABELS:
        raise LabelError(
            f"label {label!r} has {len(domain.values)} values and these models tell at most {MOST_LABELS} apart: "
            "name a label of few classes"
        )
    return domain, codes
