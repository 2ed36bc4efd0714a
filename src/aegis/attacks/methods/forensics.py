"""Look at the file instead of the table: the order of its rows, its dictionaries, statistics and metadata."""

from __future__ import annotations

import numpy as np

from aegis.arrays import Codes
from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.beside_rows import texts_beside_rows
from aegis.attacks.candidates import People
from aegis.attacks.scene import Scene
from aegis.data.domain import show

_SHORTEST = 5  # a shorter text stands somewhere in any file


@attack(
    "row-order",
    knows="the order in which the people stand in the source (by number, by date of admission)",
    cheap=True,
)
def row_order(scene: Scene) -> Claims | NotApplicable:
    """Claims for each person the row at his place, if the rows stand in the order of the source."""
    view, people = scene.release.view, scene.truth
    row = scene.whole(view).only_row
    sure = np.flatnonzero(row >= 0)
    if len(sure) < 10:
        return NotApplicable(reason="too few rows can be told apart to see their order")
    order = row[sure]
    rising = float((np.diff(order) > 0).mean())
    # In random order half of the steps rise, give or take; six standard errors off is no accident.
    if abs(rising - 0.5) < 6 * np.sqrt(0.25 / len(order)):
        return Claims(
            people=people.count, singled_out=0, right=0, baseline=1 / people.count, details={"rising_share": rising}
        )
    place = np.arange(people.count) * view.rows // people.count
    claimed = place if rising > 0.5 else view.rows - 1 - place
    right = int((claimed[sure] == order).sum())
    # Where rows were dropped the places drift: the longest rising run still gives the people in order.
    right = max(right, len(order) if rising in (0.0, 1.0) else 0)
    return Claims(
        people=people.count,
        singled_out=people.count,
        right=right,
        baseline=1 / people.count,
        details={"rising_share": rising},
    )


@attack(
    "file-metadata",
    knows="how to read what a Parquet file holds beside its rows",
    cheap=True,
)
def file_metadata(scene: Scene) -> Claims | NotApplicable:
    """Claims every person whose identifying or hidden value stands in the file and in none of its rows."""
    path = scene.release.path
    if path is None or path.suffix.lower() not in (".parquet", ".pq"):
        return NotApplicable(reason="the release is no Parquet file")
    beside = texts_beside_rows(path)
    named = np.zeros(scene.truth.count, dtype=bool)
    for name, domain in scene.truth.domains.items():
        hidden = _hidden_values(scene, name)
        leaked = np.zeros(domain.size + 1, dtype=bool)
        for code, value in enumerate(domain.values.tolist()):
            text = show(value)
            if hidden[code] and len(text) >= _SHORTEST and (text in beside.values or text in beside.metadata):
                leaked[code] = True
        named |= _named_by(scene.truth, name, leaked)
    count = int(named.sum())
    return Claims(
        people=scene.truth.count,
        singled_out=count,
        right=count,
        baseline=0.0,
        details={"values_beside_rows": float(len(beside.values))},
    )


def _hidden_values(scene: Scene, name: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The values of a column that no row of the release shows as they are."""
    size = scene.truth.domains[name].size
    hidden = np.ones(size + 1, dtype=bool)
    column = scene.release.view.columns.get(name)
    if column is not None:
        hidden[column.reading.low[column.reading.exact]] = False
    return hidden


def _named_by(people: People, name: str, leaked: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Codes:
    """The people who are the only ones with a leaked value."""
    counts = np.bincount(people.codes[name], minlength=len(leaked))
    return np.asarray((leaked & (counts == 1))[people.codes[name]])
