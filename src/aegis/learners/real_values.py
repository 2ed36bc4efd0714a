"""Columns of a finished table that hold values as real rows have them, in one list of codes with those of real rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis.data.domain import Domain, show
from aegis.data.kind import DATES, NUMBERS, Kind
from aegis.learners.features import CodedColumn, as_numbers
from aegis.learners.sample import Sample
from aegis.learners.target import Codes, Floats


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
    coded = _codes(finished.histograms[name].domain, real.histograms[name].domain)
    if coded is None:
        return None
    described, finished_codes, real_codes = coded
    return SharedColumn(
        described=described,
        finished=finished_codes[finished.codes[name]],
        real=real_codes[real.codes[name]],
    )


def _codes(finished: Domain, real: Domain) -> tuple[CodedColumn, Codes, Codes] | None:
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
