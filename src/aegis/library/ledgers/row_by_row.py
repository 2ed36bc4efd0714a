"""A finished table beside the rows that it was made of: clusters, boxes, sanitized columns, joined row by row.

Whoever made such a table knows which row became which, because they stand in the same order. So it is judged together
with the earlier releases of its source, and its classes are kept in the source's ledger, as if masks had made it.

`released_files` reads several such files, to be judged together with configurations: one whose certificate says how it
was masked is that configuration; what any other shows of each row becomes a column of the table, and a configuration
that shows this column and nothing else stands for the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from aegis.counts.answer import ask
from aegis.counts.grouping import group_tuples
from aegis.data.dataset import Dataset
from aegis.data.engine import as_dataset
from aegis.errors import DataError, VerificationError
from aegis.library.ledgers.shown_columns import masks_behind
from aegis.library.tables.written import open_written
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.masking.masks.suppress import Suppress
from aegis.releases.certificate import certificate_paths, hash_of, read_certificate
from aegis.releases.certificate_kinds import CertificateKind
from aegis.releases.row_digest import OWN
from aegis.releases.write import check_format

SHOWN = f"{OWN}shown_"
"""What the names of columns begin with that hold what a finished table shows of a row."""

_NEARLY_ALL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class SameRows:
    """By what it was seen that a finished table is in the order of its source: the columns that are as they were.

    ``rows_told_apart`` of all ``rows`` have a value of these columns that no other row has; whether others changed
    places with rows like them, nobody can see.
    """

    columns: tuple[str, ...]
    rows: int
    rows_told_apart: int

    @property
    def is_certain(self) -> bool:
        """Whether nearly every row is told apart."""
        return self.rows_told_apart >= _NEARLY_ALL * self.rows

    def warning(self) -> str:
        """What was taken on its word."""
        return (
            f"which row is which was seen by {', '.join(self.columns)}, the only columns that are as they were, and by "
            f"these {self.rows_told_apart:,} of {self.rows:,} rows are told apart: that the others stand in the order "
            "of the source is taken on its word, and what they show together with earlier releases holds only if "
            "they do"
        )


def beside_source(source: Dataset, finished: Dataset) -> tuple[ir.Table, SameRows]:
    """The rows of ``source`` with what ``finished`` shows of each; raises where they are not in the same order."""
    original, shown = ask(source.table), ask(finished.table)
    same = check_same_rows(original, shown, source=source.name, finished=finished.name)
    for place, name in enumerate(finished.schema.names):
        original = original.append_column(f"{SHOWN}{place}", shown[name])
    return ibis.memtable(original), same


def as_shown(table: ir.Table, finished: Sequence[str]) -> ir.Table:
    """What `beside_source` made, with the columns of the finished table in place of the source's."""
    own = [name for name in table.columns if name.startswith(OWN) and not name.startswith(SHOWN)]
    shown = {name: table[f"{SHOWN}{place}"] for place, name in enumerate(finished)}
    return table.select(**shown, **{name: table[name] for name in own})


def check_same_rows(original: pa.Table, shown: pa.Table, *, source: str, finished: str) -> SameRows:
    """Raise unless the rows of two tables are the same, one by one, by the columns that were left as they are."""
    if len(original) != len(shown):
        raise DataError(
            f"{finished} has {len(shown):,} rows and {source} {len(original):,}: row by row they can only be judged "
            "where every row stands in its place; write it without leaving records out"
        )
    common = [name for name in shown.column_names if name in original.column_names]
    moved, stays, kept = None, False, []
    for name in common:
        before, after = _texts(original[name]), _texts(shown[name])
        if (before == after).all():
            stays |= len(set(before.tolist())) > 1
            kept.append((name, before.tolist()))
        elif moved is None and sorted(before.tolist()) == sorted(after.tolist()):
            moved = name
    if moved is not None:
        raise DataError(
            f"{finished} is not in the order of {source}: {moved!r} has the same values in other rows; write it in the "
            "order of the source (--no-shuffle)"
        )
    if not stays:
        raise DataError(
            f"no column of {finished} is as it is in {source}, so nobody can say which row is which; keep one that is"
        )
    alike = Counter(zip(*(values for _, values in kept), strict=True))
    return SameRows(
        columns=tuple(name for name, _ in kept),
        rows=len(shown),
        rows_told_apart=sum(rows == 1 for rows in alike.values()),
    )


def _texts(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        with suppress(pa.ArrowInvalid):  # whole numbers of more digits than a real number has stay as they are written
            column = column.cast(pa.float64())
    texts = column.cast(pa.string()).fill_null("\0")
    return np.array(texts.to_pylist(), dtype=object)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedFiles:
    """Files beside the table they are of: ``columns`` are those added, those ``as_written`` suppress nothing more."""

    dataset: Dataset
    columns: tuple[str, ...]
    configurations: tuple[Configuration, ...]
    as_written: frozenset[str]

    def without_files(self, configuration: Configuration) -> Configuration:
        """A configuration of the table, which shows nothing of what the files show."""
        return replace(configuration, masks={**configuration.masks, **_hidden(self.columns)})


def released_files(paths: Sequence[Path], dataset: Dataset, quasi: Sequence[str]) -> ReleasedFiles:
    """Read the files; raises for one that is of another table, or that nobody can join to this one."""
    names = [path.stem if [other.stem for other in paths].count(path.stem) == 1 else str(path) for path in paths]
    masked: dict[str, Configuration] = {}
    classes: dict[str, tuple[str, np.ndarray[tuple[int], np.dtype[np.int64]]]] = {}
    original: pa.Table | None = None
    for name, path in zip(names, paths, strict=True):
        certified = _certified(path, quasi)
        if certified is not None:
            masked[name] = replace(certified, name=name)
            continue
        original = ask(dataset.table) if original is None else original
        shown = ask(open_written(path, named=path).table)
        check_same_rows(original, shown, source=dataset.name, finished=path.name)
        classes[name] = (f"{OWN}file_{len(classes)}", _classes(shown, [c for c in quasi if c in shown.column_names]))
    columns = tuple(column for column, _ in classes.values())
    if original is not None:
        for column, codes in classes.values():
            original = original.append_column(column, pa.array(codes))
        dataset = replace(as_dataset(ibis.memtable(original)), name=dataset.name, roles=dataset.roles)
    listed = []
    for name in names:
        if name in masked:
            own = masked[name]
            listed.append(replace(own, masks={**own.masks, **_hidden(columns)}))
        else:
            shown_only = _hidden([*quasi, *(column for column in columns if column != classes[name][0])])
            listed.append(Configuration(name=name, masks=shown_only))
    return ReleasedFiles(dataset=dataset, columns=columns, configurations=tuple(listed), as_written=frozenset(classes))


def _certified(path: Path, quasi: Sequence[str]) -> Configuration | None:
    """How a file was masked, by the certificate beside it; None where masks did not make it."""
    check_format(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}; check the path")
    beside = certificate_paths(path)[0]
    if not beside.is_file():
        return None
    certificate = read_certificate(beside)
    if certificate.file_sha256 != hash_of(path):
        raise VerificationError(f"the certificate beside {path.name} is not of this file; remove it, or give the file")
    if certificate.kind is not CertificateKind.MASKS:
        return None
    configuration = masks_behind(certificate, file=path.name)
    if not any(column in configuration.masks for column in quasi):
        return None  # it was finished before, and released as it was
    left_out = [column for column in certificate.content["release"]["left_out"] if column in quasi]
    return replace(configuration, masks={**configuration.masks, **_hidden(left_out)})


def _classes(shown: pa.Table, quasi: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The class of each row: equal for rows whose quasi-identifiers are written alike."""
    if not quasi:
        return np.zeros(len(shown), dtype=np.int64)
    coded, sizes = [], []
    for name in quasi:
        column = shown[name].combine_chunks().dictionary_encode(null_encoding="encode")
        coded.append(np.asarray(column.indices.to_numpy(zero_copy_only=False), dtype=np.int64))
        sizes.append(len(column.dictionary))
    return group_tuples(np.stack(coded, axis=1), sizes)[1]


def _hidden(columns: Sequence[str]) -> Mapping[str, Mask]:
    return {column: Suppress() for column in columns}
