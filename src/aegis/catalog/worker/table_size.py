"""How large a table becomes when it is decoded, found out before it is: a few kilobytes of Parquet can be gigabytes.

The metadata says how many rows and columns there are. What a value repeated by a dictionary adds up to, it does not
say: so the columns of text and bytes are read as dictionaries and positions, a batch at a time, and the lengths are
summed up without making a single repeated value.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aegis.errors import DataError, TooLargeError

_BATCH_ROWS = 16_384
_VALUE_BYTES = 1 << 20
_CELL_BYTES = 16


def check_decoded_size(path: Path, *, limit_bytes: int) -> None:
    """Raise `TooLargeError` where a Parquet file holds more than ``limit_bytes`` when it is decoded."""
    try:
        with pq.ParquetFile(path) as plain:
            metadata, schema = plain.metadata, plain.schema_arrow
        cells = metadata.num_rows * metadata.num_columns
        if cells * _CELL_BYTES > limit_bytes:
            raise _too_large(limit_bytes)
        texts = [field.name for field in schema if _has_lengths(field.type)]
        if not texts:
            return
        total = 0
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=texts):
                for column in batch.columns:
                    total += _length(column)
                    if total > limit_bytes:
                        raise _too_large(limit_bytes)
    except (pa.ArrowException, OSError):
        raise DataError("the released table cannot be read as Parquet; release it again") from None


def _has_lengths(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind):
        raise DataError("a released table has plain columns, no lists or records in them; release it again")
    return (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _length(column: pa.Array) -> int:
    values = column.dictionary if isinstance(column, pa.DictionaryArray) else column
    lengths = pc.binary_length(values)
    longest = pc.max(lengths).as_py()
    if longest is not None and longest > _VALUE_BYTES:
        raise TooLargeError(
            f"the table holds a value of {longest >> 20} MiB, and no value of a release is longer than "
            f"{_VALUE_BYTES >> 20} MiB; leave that column out"
        )
    if isinstance(column, pa.DictionaryArray):
        lengths = lengths.take(column.indices)
    return int(pc.sum(lengths).as_py() or 0)


def _too_large(limit_bytes: int) -> TooLargeError:
    return TooLargeError(
        f"the table would take more than {limit_bytes >> 20} MiB when it is decoded; release fewer rows or columns, or "
        "let an administrator raise release_decoded_bytes"
    )
