"""A released table as models see it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from aegis.arrays import Codes
from aegis.data.domain import Domain


class Refit(Protocol):
    """Columns that are made anew for every split, from its training rows alone."""

    @property
    def id(self) -> str:
        """What a cached result depends on beside the rows."""

    def take(self, rows: Codes) -> Refit:
        """The same with some of the rows."""

    def recoded(self, training: Codes) -> Mapping[str, tuple[Domain, Codes]]:
        """The columns of all rows, by a recoding that has seen the rows ``training`` only."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModelTable:
    """The attributes of one released table as codes of their domains; the label is not among them.

    ``tested`` holds the codes that test rows have instead, for the columns in which they differ. ``refit`` makes some
    columns anew for every split: those of a release that was fitted to the label, which would have seen test rows.
    """

    name: str
    domains: Mapping[str, Domain]
    codes: Mapping[str, Codes]
    tested: Mapping[str, Codes] = field(default_factory=dict)
    refit: Refit | None = None

    def __repr__(self) -> str:
        return f"ModelTable({self.name}: {len(self.domains)} attributes)"

    def take(self, rows: Codes) -> ModelTable:
        """The same table with some of its rows."""
        return replace(
            self,
            codes={name: codes[rows] for name, codes in self.codes.items()},
            tested={name: codes[rows] for name, codes in self.tested.items()},
            refit=None if self.refit is None else self.refit.take(rows),
        )

    def in_split(self, training: Codes, testing: Codes) -> ModelTable:
        """The table of one split: what is fitted is fitted on the rows ``training``."""
        if self.refit is None:
            return replace(self, codes=self.seen_by(testing), tested={})
        made = self.refit.recoded(training)
        return replace(
            self,
            domains={**self.domains, **{name: domain for name, (domain, _) in made.items()}},
            codes={**self.codes, **{name: codes for name, (_, codes) in made.items()}},
            refit=None,
        )

    def seen_by(self, testing: Codes) -> dict[str, Codes]:
        """The codes of a split in which the rows ``testing`` are tested on."""
        seen = dict(self.codes)
        for name, codes in self.tested.items():
            seen[name] = seen[name].copy()
            seen[name][testing] = codes[testing]
        return seen

    def fingerprint(self, label: Codes) -> str:
        """A short hash of everything a model could learn from."""
        digest = hashlib.sha256(np.ascontiguousarray(label).tobytes())
        for name, domain in self.domains.items():
            digest.update(repr((name, str(domain.kind), domain.labels())).encode())
            digest.update(np.ascontiguousarray(self.codes[name]).tobytes())
        for name, codes in self.tested.items():
            digest.update(f"tested {name}".encode() + np.ascontiguousarray(codes).tobytes())
        if self.refit is not None:
            digest.update(f"refit {self.refit.id}".encode())
        return digest.hexdigest()[:16]
