"""Which class each row had in each release: kept beside the ledger, for its owner's eyes, as digests and numbers.

Whoever holds several releases may be able to link their rows. So the provider links them too: the classes of a row in
all of them are its *known class*, whatever the releases were made by. A row that is not in a release, because it came
later, left, waits or was dropped, has the class `ABSENT` there, which is seen too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.counts.grouping import group_tuples
from aegis.data.output import PRIVATE, draft_of
from aegis.errors import LedgerError
from aegis.releases.ledger import private_folder

ABSENT = -1
_RELEASE, _VALUE = "release ", "value of "


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RowClasses:
    """``rows`` are digests in ascending order; ``classes[n]`` is the class of each in release n.

    ``values[a]`` is a digest of the sensitive value a that each row had when it last left.
    """

    rows: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    classes: Mapping[int, NDArray[np.int32]] = field(default_factory=dict)
    values: Mapping[str, Codes] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"RowClasses({len(self.rows)} rows, {len(self.classes)} releases)"

    def found(self, rows: Codes) -> Codes:
        """The place of each of ``rows``, -1 where it is not known."""
        if not len(self.rows):
            return np.full(len(rows), -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[place] == rows, place, -1)

    def known_classes(self, releases: Sequence[int]) -> Codes:
        """The known class of each row: equal for rows that look alike in all ``releases``, 0 for those in none."""
        chosen = list(dict.fromkeys(releases))
        missing = [number for number in chosen if number not in self.classes]
        if missing:
            raise LedgerError(
                f"which rows had which class in release {missing[0]} is not kept beside the ledger, so nobody can say "
                "what it shows together with another; put its folder back, or say why with --despite-ledger"
            )
        if not chosen or not len(self.rows):
            return np.zeros(len(self.rows), dtype=np.int64)
        together = self.classes[chosen[0]].astype(np.int64) + 1
        for number in chosen[1:]:
            more = self.classes[number].astype(np.int64) + 1
            pair = np.stack([together, more], axis=1)
            together = group_tuples(pair, [int(together.max()) + 1, int(more.max()) + 1])[1]
        in_none = np.all([self.classes[number] == ABSENT for number in chosen], axis=0)
        # Numbered from 1 without gaps, in a stable order; 0 is kept for those that nobody has seen.
        together[in_none] = -1
        distinct, codes = np.unique(together, return_inverse=True)
        return codes.astype(np.int64) + (0 if len(distinct) and distinct[0] == -1 else 1)

    def with_release(
        self, number: int, *, rows: Codes, classes: Codes, values: Mapping[str, Codes]
    ) -> tuple[RowClasses, int]:
        """With one more release, and the number of the release whose classes it repeats: itself if none does."""
        order = np.argsort(rows, kind="stable")
        rows, classes = rows[order], classes[order]
        if len(rows) > 1 and (rows[1:] == rows[:-1]).any():
            raise LedgerError("two rows have the same digest; release with --ledger none and keep the ledger by hand")
        everybody = np.union1d(self.rows, rows)
        before, now = np.searchsorted(everybody, self.rows), np.searchsorted(everybody, rows)

        def spread(row_classes: NDArray[np.int32]) -> NDArray[np.int32]:
            wide = np.full(len(everybody), ABSENT, dtype=np.int32)
            wide[before] = row_classes
            return wide

        new = np.full(len(everybody), ABSENT, dtype=np.int32)
        new[now] = classes
        by_release: dict[int, NDArray[np.int32]] = {
            release: spread(row_classes) for release, row_classes in self.classes.items()
        }
        repeated = next((release for release, row_classes in by_release.items() if _same(row_classes, new)), number)
        if repeated == number:
            by_release[number] = new
        arrays: dict[str, Codes] = {}
        for name in {*self.values, *values}:
            digests = np.zeros(len(everybody), dtype=np.int64)
            if name in self.values:
                digests[before] = self.values[name]
            if name in values:
                digests[now] = values[name][order]
            arrays[name] = digests
        return replace(self, rows=everybody, classes=by_release, values=arrays), repeated


def read_row_classes(ledger: Path) -> RowClasses:
    """What is kept beside a ledger; nothing where nothing is."""
    path = private_folder(ledger) / "rows.parquet"
    if not path.is_file():
        return RowClasses()
    # Part of the core, imported late because a table without a ledger does not need it.
    from pyarrow.parquet import read_table

    try:
        table = read_table(path)
        columns = {name: table[name].to_numpy() for name in table.column_names}
    except (OSError, pa.ArrowException):
        raise LedgerError(f"{path} cannot be read; put it back from a backup") from None
    return RowClasses(
        rows=columns["row"],
        classes={
            int(name.removeprefix(_RELEASE)): codes for name, codes in columns.items() if name.startswith(_RELEASE)
        },
        values={name.removeprefix(_VALUE): digests for name, digests in columns.items() if name.startswith(_VALUE)},
    )


def write_row_classes(ledger: Path, rows: RowClasses) -> None:
    """Keep it beside the ledger, readable by the owner only."""
    from pyarrow.parquet import write_table

    columns = {
        "row": rows.rows,
        **{f"{_RELEASE}{number}": codes for number, codes in rows.classes.items()},
        **{f"{_VALUE}{name}": digests for name, digests in rows.values.items()},
    }
    with draft_of(private_folder(ledger) / "rows.parquet", overwrite=True, mode=PRIVATE) as draft:
        write_table(pa.table(columns), draft, compression="zstd")


def _same(first: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
    """Whether two numberings put the same rows together, and leave the same out."""
    if ((first == ABSENT) != (other == ABSENT)).any():
        return False
    width = int(other.max(initial=0)) + 2
    pairs = np.unique((first.astype(np.int64) + 1) * width + other + 1)
    return len(pairs) == len(np.unique(first)) == len(np.unique(other))
