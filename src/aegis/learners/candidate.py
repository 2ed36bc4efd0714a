"""What the race judges: anything that can say what models would be trained on and tested on.

The protocol is that of a consumer who receives the release:

- the race hands over a `Part`, training rows and test rows of the sample; the candidate answers with a `Split`;
- what can be fitted (edges of buckets read off the data, classes, a synthesizer) is fitted on the training rows alone
  where the candidate is fitted at all; a mask that is given is a table from code to masked code, the same for all rows;
- test rows are masked as the training rows are, with draws of their own where a mask draws;
- a clustered or synthetic table trains, as many rows as it has; real rows test;
- so does a finished table from elsewhere whose values are values as real rows have them; only where its values are
  generalised it is split inside itself: it answers with the label of its own test rows, compared without pairing.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from aegis.errors import ConfigurationError
from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.sample import Sample
from aegis.learners.target import Places, Target
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.masking.transition import Partition, Transition

Flags = NDArray[np.bool_]

FINISHED = "table"
"""The kind of a finished table: what it holds, its labels included, was chosen by whoever made it."""
DRAWS = 2
"""How often a candidate that draws is tried in every part: noise is judged by its mean."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Part:
    """Some rows of the sample to train on and others to test on, with the label of both; ``number`` names the part."""

    number: int
    training: Places
    testing: Places
    training_target: Target
    testing_target: Target

    def __repr__(self) -> str:
        return f"Part({self.number}: {len(self.training)} training and {len(self.testing)} test rows)"


class Candidate(Protocol):
    """Something that may be released.

    ``kind`` is the word of the registry it came from (``masks``, ``clusters``, …); ``draws`` is how often it is tried
    in each part, 1 where nothing in it is random.
    """

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def draws(self) -> int: ...

    def split(self, part: Part, *, draw: int) -> Split:
        """What models train on, and the test rows as they would meet them, in the order of ``part.testing``."""
        ...


class MaskTables:
    """What masks do to the columns of a sample: worked out once per column and mask, shared by all configurations.

    ``changes`` are those that were worked out before, for the values that the sample's histograms count.
    """

    def __init__(self, sample: Sample, *, changes: Mapping[tuple[str, Mask], Transition] | None = None) -> None:
        self.sample = sample
        self._changes = dict(changes or {})
        self._columns: dict[tuple[str, Mask, bool], CodedColumn] = {}
        self._parts: dict[tuple[int, str, Mask, int], SplitColumn] = {}
        self._codes: dict[str, tuple[Places, Places]] = {}
        self._part: Part | None = None

    def __repr__(self) -> str:
        return f"MaskTables({self.sample!r}, {len(self._changes)} masked columns)"

    def change(self, column: str, mask: Mask) -> Transition:
        """What ``mask`` does to a column, its values counted in the whole table."""
        key = (column, mask)
        if key not in self._changes:
            self._changes[key] = self.sample.histograms[column].changed_by(mask)
        return self._changes[key]

    def is_random(self, masks: Mapping[str, Mask]) -> bool:
        return any(not isinstance(self.change(column, mask), Partition) for column, mask in masks.items())

    def masked(self, column: str, mask: Mask, part: Part, *, draw: int, starred: Flags | None = None) -> SplitColumn:
        """A masked column in the rows of a part; ``starred`` says which rows of the sample have a star instead."""
        if part is not self._part:
            self._parts.clear()  # one part at a time: what another part needs is made again
            self._codes.clear()
            self._part = part
        change = self.change(column, mask)
        random = not isinstance(change, Partition)
        key = (part.number, column, mask, draw if random else 0)
        if starred is None and key in self._parts:
            return self._parts[key]
        of_training, of_testing = self._codes_in(column, part)
        training = self._moved(change, of_training, column, mask, part, 2 * draw)
        testing = self._moved(change, of_testing, column, mask, part, 2 * draw + 1)
        described = self._described(column, mask, change, star=starred is not None)
        if starred is not None:
            training = np.where(starred[part.training], described.size - 1, training)
            testing = np.where(starred[part.testing], described.size - 1, testing)
            return SplitColumn(described, training=training, testing=testing)
        self._parts[key] = SplitColumn(described, training=training, testing=testing)
        return self._parts[key]

    def _described(self, column: str, mask: Mask, change: Transition, *, star: bool) -> CodedColumn:
        key = (column, mask, star)
        if key not in self._columns:
            self._columns[key] = CodedColumn.of(change.target, more=int(star))
        return self._columns[key]

    def _codes_in(self, column: str, part: Part) -> tuple[Places, Places]:
        """The codes of a column in the rows of the part, as they are before any mask: wide, as numpy looks up with."""
        if column not in self._codes:
            codes = self.sample.codes[column]
            self._codes[column] = codes[part.training].astype(np.int64), codes[part.testing].astype(np.int64)
        return self._codes[column]

    def _moved(self, change: Transition, codes: Places, column: str, mask: Mask, part: Part, draw: int) -> Places:
        if isinstance(change, Partition):
            return change.codes.take(codes)
        name = zlib.crc32(f"{column}\0{mask.describe()}".encode())
        rng = np.random.default_rng([self.sample.seed, name, part.number, draw])
        return change.drawn(codes, rng).astype(np.int64)


class MaskedCandidate:
    """A configuration of masks, with the rows that its release would star or leave out.

    ``starred`` says of each row of the sample whether it is suppressed; ``quasi_identifiers`` are the columns that then
    show a star. With ``dropped`` such rows are not in the release: nothing is learnt from them, and they are not
    masked when they are asked about, because whoever asks holds a record that is not in the release.
    """

    kind = "masks"

    def __init__(
        self,
        configuration: Configuration,
        tables: MaskTables,
        *,
        starred: Flags | None = None,
        quasi_identifiers: Sequence[str] = (),
        dropped: bool = False,
    ) -> None:
        sample = tables.sample
        if sample.label in configuration.columns:
            raise ConfigurationError(
                f"configuration {configuration.name!r} masks the label: what models reach on different labels cannot "
                "be compared, leave that mask out"
            )
        if starred is not None and starred.shape != sample.label_codes.shape:
            raise ValueError("suppression is given for each row of the sample")
        self.configuration = configuration
        self._tables = tables
        self._masks = {column: configuration[column] for column in sample.codes}
        self._starred = None if starred is None or not starred.any() else starred
        self._hidden = frozenset(quasi_identifiers)
        self._dropped = dropped
        self.draws = DRAWS if tables.is_random(self._masks) else 1

    def __repr__(self) -> str:
        return f"MaskedCandidate({self.configuration!r})"

    @property
    def name(self) -> str:
        return self.configuration.name

    def split(self, part: Part, *, draw: int) -> Split:
        starred, target = self._starred, part.training_target
        columns = tuple(
            self._tables.masked(
                column,
                mask,
                part,
                draw=draw,
                starred=starred if starred is not None and not self._dropped and column in self._hidden else None,
            )
            for column, mask in self._masks.items()
        )
        if starred is not None and self._dropped:
            kept = np.flatnonzero(~starred[part.training])
            target = target.at(kept)
            columns = tuple(
                SplitColumn(each.column, training=each.training[kept], testing=each.testing) for each in columns
            )
        return Split(columns=columns, target=target, test_rows=len(part.testing))


def unmasked(tables: MaskTables) -> MaskedCandidate:
    """The table as it is: what every candidate is held against."""
    return MaskedCandidate(Configuration(name="unmasked", masks={}), tables)
