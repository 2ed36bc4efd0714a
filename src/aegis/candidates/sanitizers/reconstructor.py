"""What the authorised party gets beside the release: a reconstructor for each private column, in one file.

It knows the mechanism and holds a prior that tells of no single record; with the party's own columns and the release
it gives the best estimate of every private value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audited_column import Fitted, Party
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.mechanism import (
    UNREADABLE,
    Array,
    CategoryMechanism,
    Mechanism,
    as_side,
    describe_mechanism,
    mechanism_from,
    read_arrays,
    release_matrix,
    write_arrays,
)
from aegis.candidates.sanitizers.posterior import Belief
from aegis.errors import SanitizerError

FORMAT = "aegis-reconstructor"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Reconstructor:
    """The estimate of one private column; ``promised_loss`` is its error on rows that nothing was fitted on."""

    mechanism: Mechanism
    party: Party
    promised_loss: float

    @classmethod
    def of(cls, fitted: Fitted, group: int = 0) -> Reconstructor:
        """The reconstructor of an authorised group, whose error the fitting accepted."""
        promised = fitted.groups[group].reconstruction.loss
        return cls(mechanism=fitted.mechanism, party=fitted.authorized[group], promised_loss=promised)

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns of the party, and the releases, that it is made from."""
        return (*self.mechanism.released_columns, *self.party.encoder.names)

    def estimate(self, columns: Mapping[str, Array], *, rows: int) -> Array:
        """The best estimate of every record: numbers, or values of the category."""
        guesses = self.party.belief.guess(self.mechanism, self._view(columns, rows))
        if isinstance(self.mechanism, CategoryMechanism):
            return np.array(self.mechanism.values)[guesses.astype(np.int64)]
        return guesses

    def chances(self, columns: Mapping[str, Array], *, rows: int) -> dict[str, Array]:
        """How likely each value is for every record, by value, where the promise is about that; else nothing."""
        if not self.party.belief.log or not isinstance(self.mechanism, CategoryMechanism):
            return {}
        stated = self.party.belief.stated(self.mechanism, self._view(columns, rows))
        return dict(zip(self.mechanism.values, stated.T, strict=True))

    def _view(self, columns: Mapping[str, Array], rows: int) -> View:
        released = {name: columns[name] for name in self.mechanism.released_columns}
        side = {
            name: as_side({name: columns[name]})[name] if name.endswith("_component") else columns[name]
            for name in self.party.encoder.names
        }
        return View(release=release_matrix(self.mechanism, released), side=self.party.encoder.matrix(side, rows=rows))


def write_reconstructors(reconstructors: Sequence[Reconstructor], path: Path) -> None:
    """Write the file to a path that somebody else puts in place."""
    arrays: dict[str, Array] = {}
    entries = []
    for number, reconstructor in enumerate(reconstructors):
        prefix, belief = f"column{number}_", reconstructor.party.belief
        arrays |= {f"{prefix}values": belief.values, f"{prefix}cuts": belief.cuts, f"{prefix}shares": belief.shares}
        if belief.cost is not None:
            arrays[f"{prefix}cost"] = belief.cost
        for layer, (weights, bias) in enumerate(belief.layers):
            arrays |= {f"{prefix}weights{layer}": weights, f"{prefix}bias{layer}": bias}
        entries.append(
            {
                "mechanism": describe_mechanism(reconstructor.mechanism, f"{prefix}mechanism_", arrays),
                "encoder": reconstructor.party.encoder.to_json(),
                "kind": belief.kind,
                "log": belief.log,
                "layers": len(belief.layers),
                "promised_loss": reconstructor.promised_loss,
            }
        )
    header = {"format": FORMAT, "version": VERSION, "columns": entries}
    with path.open("wb") as stream:
        write_arrays(stream, header, arrays)


def load_reconstructors(path: Path) -> tuple[Reconstructor, ...]:
    """Read the file back; anything else is refused with a sentence."""
    wrong = SanitizerError(
        f"{path.name} is not a reconstructor of this version; 'aegis sanitize' writes one for the authorised party"
    )
    try:
        header, arrays = read_arrays(path)
        if (header["format"], header["version"]) != (FORMAT, VERSION):
            raise wrong
        return tuple(_reconstructor(entry, f"column{n}_", arrays) for n, entry in enumerate(header["columns"]))
    except FileNotFoundError:
        raise SanitizerError(f"there is no reconstructor file {path.name}") from None
    except UNREADABLE:
        raise wrong from None


def _reconstructor(entry: Mapping[str, Any], prefix: str, arrays: dict[str, Array]) -> Reconstructor:
    belief = Belief(
        kind="category" if entry["kind"] == "category" else "number",
        values=arrays[f"{prefix}values"],
        layers=[(arrays[f"{prefix}weights{i}"], arrays[f"{prefix}bias{i}"]) for i in range(int(entry["layers"]))],
        cuts=arrays[f"{prefix}cuts"],
        shares=arrays[f"{prefix}shares"],
        cost=arrays.get(f"{prefix}cost"),
        log=bool(entry.get("log", False)),
    )
    return Reconstructor(
        mechanism=mechanism_from(entry["mechanism"], f"{prefix}mechanism_", arrays),
        party=Party(Encoder.from_json(entry["encoder"]), belief),
        promised_loss=float(entry["promised_loss"]),
    )
