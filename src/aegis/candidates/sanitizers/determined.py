"""How many records a release may determine, beyond those that are determined without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.sanitizers.posterior import CertainPart, Certainty
from aegis.errors import VerificationError
from aegis.plural import count

CERTAIN_CAP = 0.01  # records whose value is determined, beyond those that side information alone determines
VALUE_CAP = 0.05  # the same among the records of any one category
MEASURED_ROWS = 4_000
_FEWEST = 20  # measured records of a category from which its own share is judged


@dataclass(frozen=True, slots=True, kw_only=True)
class TooCertain:
    """An adversary for whom a release determines too many records: their share without it and with it, and the cap."""

    adversary: int
    before: float
    after: float
    allowed: float
    of_one_value: bool


def too_certain(before: Sequence[Certainty], after: Sequence[Certainty], *, codes: Ints | None) -> TooCertain | None:
    """The first adversary for whom too many records are determined; None where none is."""
    for number, (then, now) in enumerate(zip(before, after, strict=True), start=1):
        if now.certain > then.certain + CERTAIN_CAP:
            return TooCertain(
                adversary=number, before=then.certain, after=now.certain, allowed=CERTAIN_CAP, of_one_value=False
            )
        if codes is not None:
            held = np.bincount(codes[:MEASURED_ROWS], minlength=len(now.by_value))
            for was, share, records in zip(then.by_value, now.by_value, held, strict=True):
                if records >= _FEWEST and share > was + VALUE_CAP:
                    return TooCertain(adversary=number, before=was, after=share, allowed=VALUE_CAP, of_one_value=True)
    return None


def refuse_certain(column: str, before: Sequence[Certainty], after: Sequence[Certainty], *, codes: Ints | None) -> None:
    """Refuse a release that determines too many records for an adversary that knows how it was made."""
    excess = too_certain(before, after, codes=codes)
    if excess is not None:
        whose = "the records with one value" if excess.of_one_value else "the records"
        raise VerificationError(
            f"the release of column '{column}' would determine {100 * excess.after:.1f} % of {whose} for adversary "
            f"{excess.adversary}, who knows how it was made and is sure of {100 * excess.before:.1f} % without it; at "
            f"most {count(round(100 * excess.allowed), 'point')} more may be: allow more distortion"
        )


def too_certain_part(parts: Sequence[CertainPart], *, records: int | None = None) -> CertainPart | None:
    """The first column of tuples that is determined by itself for too many records; None where none is.

    ``records`` allows for the chance of a drawing that was measured on so many.
    """
    for part in parts:
        chance = 0.0 if records is None else 3 * np.sqrt(max(part.after * (1 - part.after), 1e-4) / records)
        if part.after > part.before + CERTAIN_CAP + chance:
            return part
    return None


def refuse_certain_parts(column: str, parts: Sequence[CertainPart], *, records: int | None = None) -> None:
    """Refuse tuples that stay in doubt while a column of them does not."""
    part = too_certain_part(parts, records=records)
    if part is not None:
        raise VerificationError(
            f"the tuples of column '{column}' determine '{part.column}' by itself for {100 * part.after:.1f} % of the "
            f"records ({100 * part.before:.1f} % without them), although no tuple is; nothing is written: allow more "
            "distortion, ask for --local-dp, or release the columns one after the other (without --jointly)"
        )
