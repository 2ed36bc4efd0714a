"""Coded rows under a configuration: every code replaced by the code of its masked value."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from aegis.errors import ConfigurationError
from aegis.evaluation.coded_rows import CodedRows, Codes
from aegis.learners.draws import drawn
from aegis.masking.mask import Mask
from aegis.masking.partition import Partition
from aegis.masking.transition import Transition, transition


class RowMasker:
    """Masks coded rows; what a mask does to a column is worked out once, however many configurations share it."""

    def __init__(self, rows: CodedRows, *, label: str, seed: int = 0) -> None:
        self._rows, self._label, self._seed = rows, label, seed
        self._changes: dict[tuple[str, Mask], Transition] = {}

    def masked(self, masks: Mapping[str, Mask], *, configuration: str = "it") -> CodedRows:
        """The rows as they would be released under these masks; random ones draw by seed and column."""
        if self._label in masks:
            raise ConfigurationError(
                f"configuration {configuration!r} masks the label: accuracies on different labels cannot be "
                "compared, evaluate it without that mask"
            )
        domains, codes = dict(self._rows.domains), dict(self._rows.codes)
        for column, mask in masks.items():
            if column not in domains:
                continue  # identifying columns and those with too many texts are no attributes
            change = self._change(column, mask)
            domains[column] = change.target
            codes[column] = self._moved(change, codes[column], column)
        return replace(self._rows, domains=domains, codes=codes)

    def _change(self, column: str, mask: Mask) -> Transition:
        if (column, mask) not in self._changes:
            counts = self._rows.counts(column)
            self._changes[column, mask] = transition(mask, self._rows.domains[column], counts)
        return self._changes[column, mask]

    def _moved(self, change: Transition, codes: Codes, column: str) -> Codes:
        if isinstance(change, Partition):
            return change.codes[codes]
        rng = np.random.default_rng([self._seed, zlib.crc32(column.encode())])
        return drawn(change.matrix, codes, rng)
