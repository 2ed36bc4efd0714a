"""The candidates that are no configurations of masks and may be released, and why others may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aegis.library.advising.candidate_kinds import MadeCandidate
from aegis.masking.configuration import Configuration
from aegis.ranking.verdicts import CandidateVerdict

if TYPE_CHECKING:
    from aegis.library.advising.judged_candidates import JudgedTable


@dataclass(frozen=True, kw_only=True, eq=False)
class OtherCandidates:
    """Those that may be released, and why the rest may not."""

    passed: tuple[JudgedTable | MadeCandidate, ...] = ()
    rejected: Mapping[str, str] = field(default_factory=dict)

    @property
    def made(self) -> tuple[MadeCandidate, ...]:
        """Those that were made on the spot."""
        return tuple(candidate for candidate in self.passed if isinstance(candidate, MadeCandidate))

    @property
    def configurations(self) -> dict[str, Configuration]:
        """Those that are made of masks alone."""
        return {made.name: made.configuration for made in self.made if made.configuration is not None}

    @property
    def verdicts(self) -> dict[str, CandidateVerdict]:
        """What the policy says of each that may be released."""
        return {candidate.name: candidate.verdict for candidate in self.passed if candidate.verdict is not None}

    @property
    def notes(self) -> tuple[str, ...]:
        """What is worth knowing of how they were made."""
        return tuple(made.note for made in self.made if made.note)
