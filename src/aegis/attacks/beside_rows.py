"""What a Parquet file holds beside its rows: unused entries of dictionaries, ends of statistics, metadata.

Apart from the attack that looks for people in it, because the catalog asks it of every release that arrives, and needs
none of what attacks load.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


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
