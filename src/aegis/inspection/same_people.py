"""Columns that say whose a row is because another column does: a chart number beside the name of a patient.

Rows that share a value of such a column are of one person. So whoever reads it reads what the other column was hidden
for, however it is called and whatever its values look like.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aegis.arrays import Codes
from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.kind import Kind

_LOOKED_AT = 50_000
_FEW_VALUES = 20
_FEWEST_PAIRS = 10
"""So many pairs of rows must share a value before they say something."""
_AGREE, _BY_CHANCE = 0.95, 0.5


def may_say_whose(kind: Kind, distinct: int) -> bool:
    """Whether a column may hold numbers or names of people: measurements are not taken for them."""
    return kind in (Kind.TEXT, Kind.INTEGER) and distinct > _FEW_VALUES


def same_people(dataset: Dataset, known: Sequence[str], others: Sequence[str]) -> dict[str, str]:
    """Which of ``others`` say whose a row is, each with the one of ``known`` that it tells, by the first rows."""
    if not known or not others:
        return {}
    rows = ask(dataset.table.select(*dict.fromkeys((*known, *others))).limit(_LOOKED_AT))
    codes = {name: exact_codes(rows[name]) for name in rows.column_names}
    told: dict[str, str] = {}
    for other in others:
        by = next((name for name in known if _is_of_one(codes[other], codes[name])), None)
        if by is not None:
            told[other] = by
    return told


def same_people_words(known: str) -> str:
    """Why such a column identifies.

    >>> same_people_words("patient")
    'rows that share a value share their patient: it says whose they are as well'
    """
    return f"rows that share a value share their {known}: it says whose they are as well"


def exact_codes(column: pa.ChunkedArray) -> Codes:
    """A code for every value; 0 is a missing one."""
    indices = pc.fill_null(column.combine_chunks().dictionary_encode().indices, -1)
    codes: Codes = indices.to_numpy(zero_copy_only=False).astype(np.int64) + 1
    return codes


def pairs_that_share(column: Codes) -> tuple[Codes, Codes]:
    """Pairs of rows with the same value, each row beside the next one that has it."""
    order = np.argsort(column, kind="stable")
    first, second = order[:-1], order[1:]
    same = (column[first] == column[second]) & (column[first] > 0)
    return first[same], second[same]


def _is_of_one(column: Codes, person: Codes) -> bool:
    first, second = pairs_that_share(column)
    both = (person[first] > 0) & (person[second] > 0)
    first, second = first[both], second[both]
    if len(first) < _FEWEST_PAIRS:
        return False
    shares = np.bincount(person)[1:] / max(int((person > 0).sum()), 1)
    by_chance = float(shares @ shares)
    return by_chance < _BY_CHANCE and float((person[first] == person[second]).mean()) >= _AGREE
