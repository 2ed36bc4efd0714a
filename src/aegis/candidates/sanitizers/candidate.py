"""A sanitized table in the race: private columns as a mechanism releases them, the others as a masked table has."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.mechanism import Mechanism, NumberMechanism
from aegis.learners.candidate import Candidate, Part
from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.sample import Sample

DRAWS = 2


class SanitizedCandidate:
    """The release of ``mechanisms`` in place of their columns of ``base``, drawn anew for every part.

    A mechanism sees its column alone and is found on the table; whoever asks about a record releases its private value
    by the same mechanism. What a mixture drew from is published beside the value, and silence is a missing value.
    """

    kind = "sanitized"
    draws = DRAWS

    def __init__(self, name: str, base: Candidate, sample: Sample, mechanisms: Sequence[Mechanism]) -> None:
        self.name = name
        self._base = base
        self._sample = sample
        self._mechanisms = {mechanism.column: mechanism for mechanism in mechanisms}

    def __repr__(self) -> str:
        return f"SanitizedCandidate({', '.join(self._mechanisms)})"

    def split(self, part: Part, *, draw: int) -> Split:
        masked = self._base.split(part, draw=min(draw, self._base.draws - 1))
        columns: list[SplitColumn] = []
        for name, column in zip(self._sample.codes, masked.columns, strict=True):
            mechanism = self._mechanisms.get(name)
            if mechanism is None:
                columns.append(column)
                continue
            seed = [self._sample.seed, zlib.crc32(f"{self.name}\0{name}".encode()), part.number, draw]
            # Drawn for all rows, so that what a row gets does not depend on which others are asked about.
            drawn = mechanism.apply(column_values(self._sample, name), rng=np.random.default_rng(seed))
            columns += _coded(mechanism, drawn, part)
        return replace(masked, columns=tuple(columns))


def column_values(sample: Sample, name: str) -> NDArray[Any]:
    """The values of a column of the sample that misses none."""
    return sample.histograms[name].domain.values[sample.codes[name]]


def _coded(mechanism: Mechanism, drawn: Mapping[str, NDArray[Any]], part: Part) -> list[SplitColumn]:
    """What a mechanism released, as codes: numbers in their order, symbols and components as categories."""
    columns = []
    for place, released in enumerate(drawn.values()):
        distinct, places = np.unique(released, return_inverse=True)
        codes = places.astype(np.int32)
        column = CodedColumn(size=len(distinct))
        if isinstance(mechanism, NumberMechanism) and not place:
            if (component := drawn.get(f"{mechanism.column}_component")) is not None:
                codes[np.isin(component, mechanism.silent)] = len(distinct)
            column = CodedColumn(size=len(distinct) + 1, numbers=np.append(distinct.astype(np.float64), np.nan))
        columns.append(SplitColumn(column, training=codes[part.training], testing=codes[part.testing]))
    return columns
