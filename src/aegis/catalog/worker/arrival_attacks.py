"""The cheap attacks that the catalog can run without the true table, on every release that arrives.

What the file alone gives away, and what it gives away beside the other releases of the product. Counts are shown in
steps of five, like every count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.catalog.database.tables import Release
from aegis.counts.answer import ask
from aegis.counts.disclosure_rule import count_words, shown_count
from aegis.library.tables.judging import Texts, open_written, written_texts
from aegis.masking.configuration_file import certified_configuration

MOST_HELD = 5
"""With how many other releases a new one is laid side by side."""
MOST_ROWS = 2_000_000
_Codes = NDArray[np.int64]


def attack_on_arrival(
    file: Path, row: Release, earlier: Sequence[tuple[Release, Path]], *, place: Path
) -> tuple[dict[str, Any], ...]:
    """What each attack found, as the catalog keeps it; nothing is found out about tables of very many rows."""
    texts, rows = _read(file)
    if rows > MOST_ROWS:
        return ()
    attacks = [_order(texts, rows), _alone(texts, rows, row), _same_value(texts, rows, row)]
    for number, (other, path) in enumerate(earlier):
        named = place / f"held-{number}-{other.file_name}"
        named.symlink_to(path.resolve())
        attacks.append(_linked(texts, rows, row, other, named))
    return tuple(attack for attack in attacks if attack is not None)


def _read(file: Path) -> tuple[Texts, int]:
    table = ask(open_written(file, named=file).table)
    return written_texts(table), table.num_rows


def _order(texts: Texts, rows: int) -> dict[str, Any]:
    """Whether the rows stand in the order of a column, far more often than by chance."""
    ordered = []
    for name, (labels, codes) in texts.items():
        rank = np.argsort(np.argsort([label or "" for label in labels]))[codes]
        steps = np.diff(rank)
        moving = steps[steps != 0]
        if len(moving) >= 50 and abs(float((moving > 0).mean()) - 0.5) > 6 * np.sqrt(0.25 / len(moving)):
            ordered.append(name)
    sentence = f"the rows stand in the order of {', '.join(map(repr, ordered))}" if ordered else "no order to be seen"
    return _said("row order", "how the source is sorted", rows, rows if ordered else 0, sentence)


def _alone(texts: Texts, rows: int, row: Release) -> dict[str, Any]:
    """Records that nobody shares the quasi-identifiers with."""
    sizes = _sizes(_classes(texts, _quasi(texts, row), rows))
    exposed = int((sizes == 1).sum())
    smallest = int(sizes.min()) if len(sizes) else 0
    sentence = f"the smallest group has {count_words(smallest)} records"
    return _said("singled out", "all quasi-identifiers of a person", rows, exposed, sentence)


def _same_value(texts: Texts, rows: int, row: Release) -> dict[str, Any] | None:
    """Records whose whole group has one sensitive value."""
    classes = _classes(texts, _quasi(texts, row), rows)
    sensitive = [name for name in row.certificate["roles"].get("sensitive", ()) if name in texts]
    if not sensitive:
        return None
    exposed = np.zeros(rows, dtype=bool)
    for name in sensitive:
        pairs = np.unique(np.stack([classes, texts[name][1]], axis=1), axis=0)
        exposed |= np.bincount(pairs[:, 0], minlength=int(classes.max(initial=0)) + 1)[classes] == 1
    count = int(exposed.sum())
    sentence = "nobody's group has one value only" if not count else "their whole group has the same sensitive value"
    return _said("same value in a group", "all quasi-identifiers of a person", rows, count, sentence)


def _linked(texts: Texts, rows: int, row: Release, other: Release, path: Path) -> dict[str, Any]:
    """Rows of two releases that belong together, because what both leave as it is occurs once in each."""
    theirs, _ = _read(path)
    plain = sorted(_unmasked(row) & _unmasked(other) & set(texts) & set(theirs))
    knows = f"the release {other.file_name}, and links rows by what both leave as it is"
    name = "put beside another release"
    if not plain:
        return _said(name, knows, rows, 0, "the two leave no column as it is in common")
    mine, yours = _once(texts, plain), _once(theirs, plain)
    count = len(mine & yours)
    columns = ", ".join(map(repr, plain))
    sentence = f"linked by {columns}" if count else f"no row is the only one with its values of {columns} in both"
    return _said(name, knows, rows, count, sentence)


def _once(texts: Texts, columns: Sequence[str]) -> set[tuple[str | None, ...]]:
    """The combinations of values that one row has."""
    shown = [[texts[name][0][code] for code in texts[name][1].tolist()] for name in columns]
    return {values for values, times in Counter(zip(*shown, strict=True)).items() if times == 1}


def _unmasked(release: Release) -> set[str]:
    masked = set(certified_configuration(release.certificate).masks)
    return {name for name in release.certificate["release"]["columns"] if name not in masked}


def _quasi(texts: Texts, row: Release) -> list[str]:
    return [name for name in row.certificate["roles"].get("quasi_identifying", ()) if name in texts]


def _classes(texts: Texts, columns: Sequence[str], rows: int) -> _Codes:
    """A number for each row, the same where the columns are."""
    if not columns:
        return np.zeros(rows, dtype=np.int64)
    codes = np.stack([texts[name][1] for name in columns], axis=1)
    return np.unique(codes, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _sizes(classes: _Codes) -> _Codes:
    return np.bincount(classes)[classes] if len(classes) else classes


def _said(name: str, knows: str, records: int, exposed: int, sentence: str) -> dict[str, Any]:
    return {
        "name": name,
        "knows": knows,
        "records": shown_count(records),
        "exposed": shown_count(exposed),
        "said": sentence,
    }
