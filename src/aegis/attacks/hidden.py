"""Who is behind the starred rows: those whose class a release does not show.

A release stars every record of a class that fails, and none of another. So whoever fits a row that is shown is behind
none of the starred ones. An attacker who knows the masks works that out for everybody: it becomes a column of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.attacks.candidates import Candidates, People
from aegis.attacks.reading import Reading, is_deterministic
from aegis.attacks.view import ReadColumn, View, part_of
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.masking.mask import Mask
from aegis.masking.masks.suppress import STAR

_SHOWN_OR_HIDDEN = Domain.of(Kind.BOOLEAN, [False, True])


def starred_rows(texts: Mapping[str, tuple[tuple[str | None, ...], Codes]], known: Sequence[str]) -> NDArray[np.bool_]:
    """The rows that show a star in every quasi-identifier."""
    columns = [texts[name] for name in known if name in texts]
    rows = len(columns[0][1]) if columns else 0
    starred = np.full(rows, bool(columns))
    for labels, codes in columns:
        starred &= np.array([text == STAR for text in labels], dtype=bool)[codes]
    return starred


def with_hidden(
    name: str,
    view: View,
    people: People,
    *,
    starred: NDArray[np.bool_],
    known: Sequence[str],
    masks: Mapping[str, Mask],
) -> tuple[View, People]:
    """The view and the people with the column that says who is hidden; as they were where nobody can tell."""
    certain = all(is_deterministic(masks[column]) for column in known if column in masks)
    if not certain or not starred.any() or starred.all():
        return view, people
    shown = part_of(view, np.flatnonzero(~starred))
    hidden = (Candidates.find(shown, people, tuple(known)).rows == 0).astype(np.int64)
    column = f"{STAR} {name}"
    reading = Reading(
        size=2,
        low=np.array([0, 1]),
        high=np.array([1, 2]),
        start=np.full(2, -1, dtype=np.int64),
        member=np.zeros(0, dtype=bool),
    )
    read = ReadColumn(texts=("shown", "hidden"), codes=starred.astype(np.int64), reading=reading)
    more = replace(
        people,
        codes={**people.codes, column: hidden},
        domains={**people.domains, column: _SHOWN_OR_HIDDEN},
    )
    return view.with_column(column, read), more
