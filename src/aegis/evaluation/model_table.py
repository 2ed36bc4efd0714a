"""A released table as models see it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModelTable:
    """The attributes of one released table as codes of their domains; the label is not among them.

    ``tested`` holds the codes that test rows have instead, for the columns in which they differ.
    """

    name: str
    domains: Mapping[str, Domain]
    codes: Mapping[str, Codes]
    tested: Mapping[str, Codes] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"ModelTable({self.name}: {len(self.domains)} attributes)"

    def take(self, rows: Codes) -> ModelTable:
        """The same table with some of its rows."""
        return replace(
            self,
            codes={name: codes[rows] for name, codes in self.codes.items()},
            tested={name: codes[rows] for name, codes in self.tested.items()},
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
        return digest.hexdigest()[:16]
