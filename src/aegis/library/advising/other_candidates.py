"""Candidates that are no configurations: finished tables, and what is made on the spot, each with its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aegis.commands.advise import Advise
from aegis.data.dataset import Dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Roles
from aegis.learners.sample import Sample
from aegis.library.advising.candidate_kinds import Made, Workshop, make_candidates
from aegis.masking.configuration import Configuration
from aegis.privacy.policy import Policy
from aegis.ranking.verdicts import CandidateVerdict

if TYPE_CHECKING:
    from aegis.library.advising.finished_tables import JudgedTable
    from aegis.library.ledgers.earlier_releases import EarlierReleases


@dataclass(frozen=True, kw_only=True, eq=False)
class OtherCandidates:
    """Those that may be released, and why the rest may not."""

    passed: tuple[JudgedTable | Made, ...] = ()
    rejected: Mapping[str, str] = field(default_factory=dict)

    @property
    def made(self) -> tuple[Made, ...]:
        """Those that were made on the spot."""
        return tuple(candidate for candidate in self.passed if isinstance(candidate, Made))

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


def judge_others(
    options: Advise,
    dataset: Dataset,
    sample: Sample,
    *,
    policy: Policy | None,
    roles: Roles,
    hierarchies: Mapping[str, Hierarchy],
    earlier: EarlierReleases | None,
) -> OtherCandidates:
    """Finished tables, judged row by row, and candidates made on the spot, judged as they are made."""
    candidates: list[JudgedTable | Made] = []
    if options.tables:
        from aegis.library.advising.finished_tables import judged_tables  # few calls give any

        candidates += judged_tables(
            options.tables, dataset, sample, policy=policy, roles=roles, hierarchies=hierarchies, earlier=earlier
        )
    if policy is None:
        return OtherCandidates(passed=tuple(candidates))
    workshop = Workshop(
        dataset=dataset,
        sample=sample,
        policy=policy,
        roles=roles,
        hierarchies=hierarchies,
        seed=options.seed,
        seconds=options.seconds,
        progress=options.progress,
        ways=options.ways,
        earlier=earlier,
    )
    makings = make_candidates(options.candidates, workshop)
    verdicts = [
        (candidate, candidate.verdict) for candidate in (*candidates, *makings.made) if candidate.verdict is not None
    ]
    return OtherCandidates(
        passed=tuple(candidate for candidate, verdict in verdicts if verdict.satisfied),
        rejected={
            **makings.rejected,
            **{candidate.name: verdict.reason for candidate, verdict in verdicts if not verdict.satisfied},
        },
    )
