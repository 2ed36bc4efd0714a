"""Files that were released of a table, as configurations that can be judged together with others.

A file whose certificate says how it was masked is that configuration. Any other (clusters, boxes, a table made by hand)
is joined to the table row by row, so it must be in its order: what it shows of each row becomes a column of the table,
and a configuration that shows this column and nothing else stands for the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa

from aegis.counts.answer import ask
from aegis.counts.grouping import group_tuples
from aegis.data.dataset import Dataset
from aegis.data.engine import as_dataset
from aegis.errors import DataError, VerificationError
from aegis.library.masks_behind import masks_behind
from aegis.library.row_by_row import check_same_rows
from aegis.library.written import open_written
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.masking.masks.suppress import Suppress
from aegis.releases.certificate import certificate_paths, hash_of, read_certificate
from aegis.releases.certificate_kinds import CertificateKind
from aegis.releases.row_digest import OWN
from aegis.releases.write import check_format


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
    names = [path.stem if [each.stem for each in paths].count(path.stem) == 1 else str(path) for path in paths]
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
