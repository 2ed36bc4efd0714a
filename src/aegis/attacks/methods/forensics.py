"""Look at the file instead of the table: the order of its rows, its dictionaries, statistics and metadata."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.candidates import People
from aegis.attacks.reading import Codes
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BesideRows:
    """What a file holds beside its rows.

    ``entries`` of dictionaries that no row uses, ``values`` that no row shows (these, and ends of statistics), and the
    ``metadata`` as one text.
    """

    entries: frozenset[str]
    values: frozenset[str]
    metadata: str

    def __repr__(self) -> str:
        return f"BesideRows({len(self.values)} values)"


def texts_beside_rows(path: Path) -> BesideRows:
    """Entries of dictionaries that no row uses, ends of statistics that no row holds, and all metadata."""
    file = pq.ParquetFile(path)
    texts = [field.name for field in file.schema_arrow if pa.types.is_string(_plain(field.type))]
    values: set[str] = set()
    unused: set[str] = set()
    for name in texts:
        column = pq.read_table(path, columns=[name], read_dictionary=[name])[name]
        shown: set[str] = set()
        entries: set[str] = set()
        for chunk in column.chunks:
            used = np.zeros(len(chunk.dictionary), dtype=bool)
            used[chunk.indices.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)] = True
            listed = chunk.dictionary.to_pylist()
            entries.update(text for text in listed if text is not None)
            shown.update(text for text, is_used in zip(listed, used.tolist(), strict=True) if is_used and text)
        unused |= entries - shown
        values |= (entries | _ends(file, name)) - shown
    pairs = {**(file.metadata.metadata or {}), **(file.schema_arrow.metadata or {})}
    described = " ".join(f"{_text(key)} {_text(value)}" for key, value in pairs.items() if key != b"ARROW:schema")
    return BesideRows(entries=frozenset(unused), values=frozenset(values), metadata=described)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _ends(file: pq.ParquetFile, name: str) -> set[str]:
    """The least and the greatest text that the statistics of row groups name."""
    ends: set[str] = set()
    for group in range(file.metadata.num_row_groups):
        for number in range(file.metadata.num_columns):
            column = file.metadata.row_group(group).column(number)
            statistics = column.statistics
            if column.path_in_schema == name and statistics is not None and statistics.has_min_max:
                ends |= {str(statistics.min), str(statistics.max)}
    return ends


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")


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
