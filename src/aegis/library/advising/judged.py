"""Candidates with what the policy says of them: configurations of masks, and all others (`judged_candidates`).

Generated configurations are aimed at the policy: where fewer satisfy it than were asked for, stronger ones are made
beside them. What knows policies and ledgers is loaded where there is a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from aegis.commands.advise import Advise
from aegis.counts.joint import TableCounts
from aegis.data.dataset import Dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Roles
from aegis.errors import PolicyNotSatisfiedError
from aegis.library.advising.candidate_kinds import MadeCandidate
from aegis.library.tables.proposals import generated, propose, to_be_masked
from aegis.library.tables.without_policy import all_pass
from aegis.masking.configuration import Configuration
from aegis.plural import count
from aegis.ranking.verdicts import CandidateVerdict, Verdicts

if TYPE_CHECKING:
    from aegis.library.advising.judged_candidates import JudgedTable
    from aegis.library.ledgers.constraints import Constraints

STRONGER = "heavy"
ROUNDS = 10
AIMED = ("mixed", "any")
"""Strengths that stronger ones may be made beside: whoever asks for light or medium ones gets no others."""


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedMasks:
    """The verdicts, and what is worth knowing of how the candidates were made."""

    verdicts: Verdicts
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class OtherCandidates:
    """Those that are no configurations of masks: the ones that may be released, and why the rest may not."""

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


@dataclass(frozen=True, kw_only=True, eq=False)
class MasksToJudge:
    """What configurations are made of and judged by; ``counts`` holds the columns that may be masked."""

    options: Advise
    dataset: Dataset
    counts: TableCounts
    hierarchies: Mapping[str, Hierarchy]
    constraints: Constraints | None

    @property
    def roles(self) -> Roles:
        return self.dataset.roles if self.constraints is None else self.constraints.roles

    def judged(self, proposed: list[Configuration]) -> JudgedMasks:
        """The given configurations and the generated ones that the options ask for, each with its verdict."""
        options, own_names = self.options, {configuration.name for configuration in proposed}
        if self.constraints is not None:
            from aegis.library.tables.judging import check_identifying

            for configuration in proposed:
                check_identifying(self.roles, configuration.masks)
        candidates = propose(
            proposed,
            options,
            self.counts,
            self.dataset.schema.names,
            seed=options.seed,
            hierarchies=self.hierarchies,
            roles=self.roles,
            none_is_fine=options.has_others,
        )
        verdicts_of = self._judging()
        verdicts = self._verdicts(candidates, own_names, verdicts_of)
        notes: tuple[str, ...] = ()
        made = len(candidates) - len(proposed)
        if made < options.generate:
            notes = (
                f"these columns and masks allow {count(made, 'different configuration')}, fewer than "
                f"{options.generate}",
            )
        passed = sum(configuration.name not in own_names for configuration in verdicts.passed)
        if self.constraints is not None and passed < made and options.strength in AIMED:
            stronger = self._stronger(verdicts_of, candidates, most=options.generate - passed)
            verdicts = replace(
                verdicts,
                passed=(*verdicts.passed, *stronger.passed),
                by_name={**verdicts.by_name, **stronger.by_name},
            )
            notes = (*notes, _aimed_note(passed, made, len(stronger.passed), options))
        if not verdicts.passed and not options.has_others:
            raise PolicyNotSatisfiedError(self._none_passed(verdicts, made=made))
        return JudgedMasks(verdicts=verdicts, notes=notes)

    def _judging(self) -> Callable[[Sequence[Configuration]], Verdicts]:
        if self.constraints is None:
            return all_pass(self.dataset)
        return self.constraints.judging()

    def _verdicts(
        self,
        candidates: Sequence[Configuration],
        own: set[str],
        verdicts_of: Callable[[Sequence[Configuration]], Verdicts],
    ) -> Verdicts:
        """Where something was released before, generated ones repeat its masks of sensitive columns; others have to."""
        earlier = None if self.constraints is None else self.constraints.earlier
        if earlier is None:
            return verdicts_of(candidates)
        from aegis.library.ledgers.earlier_promises import masks_to_repeat, why_masked_otherwise

        repeated = masks_to_repeat(earlier)
        fitted = [
            candidate if candidate.name in own else replace(candidate, masks={**repeated, **candidate.masks})
            for candidate in candidates
        ]
        reasons = {candidate.name: why_masked_otherwise(earlier, candidate) for candidate in fitted}
        refused = {name: reason for name, reason in reasons.items() if reason is not None}
        verdicts = verdicts_of([candidate for candidate in fitted if candidate.name not in refused])
        return replace(verdicts, rejected={**verdicts.rejected, **refused})

    def _stronger(
        self, verdicts_of: Callable[[Sequence[Configuration]], Verdicts], others: Sequence[Configuration], *, most: int
    ) -> Verdicts:
        """At most so many stronger configurations that pass, none there already; drawn a few times over if need be."""
        options = self.options
        columns = to_be_masked(self.counts, self.roles, asked=options.mask_columns)
        ids, names = {other.id for other in others}, {other.name for other in others}
        stronger = Verdicts(passed=())
        number = 0
        for attempt in range(ROUNDS):
            drawn = generated(
                columns,
                count=most,
                strength=STRONGER,
                masks=options.masks,
                seed=options.seed + attempt,
                hierarchies=self.hierarchies,
            )
            named = []
            for configuration in drawn:
                number += 1
                name = f"{STRONGER[0]}{number:03d}"
                if configuration.id not in ids and name not in names:
                    named.append(replace(configuration, name=name))
                    ids.add(configuration.id)
            verdicts = self._verdicts(named, set(), verdicts_of)
            passed = (*stronger.passed, *verdicts.passed)[:most]
            judged_of = {**stronger.by_name, **verdicts.by_name}
            stronger = Verdicts(
                passed=passed, by_name={configuration.name: judged_of[configuration.name] for configuration in passed}
            )
            if len(passed) == most:
                break
        return stronger

    def _none_passed(self, verdicts: Verdicts, *, made: int) -> str:
        """Why nothing is left to rank, and the way out."""
        first = next(iter(verdicts.rejected.values()), "")
        if first and not verdicts.by_name:
            return f"none of the configurations may be released: {first}"
        tried = f"none of the {len(verdicts.rejected)} configurations satisfies the policy"
        if not made:
            return f"{tried}; mask more, or search for one with --candidates search"
        if self.options.strength in AIMED:
            return f"{tried}, nor does any of strength {STRONGER}; search for one with --candidates search"
        return (
            f"{tried}: they are of strength {self.options.strength}; give --strength {STRONGER}, or search for one "
            "with --candidates search"
        )


def _aimed_note(passed: int, made: int, taken: int, options: Advise) -> str:
    sentence = f"{passed} of {count(made, 'configuration')} of strength {options.strength} satisfy the policy"
    if taken:
        sentence += f"; {taken} of strength {STRONGER} that do {'was' if taken == 1 else 'were'} made beside them"
    if passed + taken < options.generate:
        more = "others" if passed + taken else "one"
        sentence += f"; no more were found, and --candidates masks,search looks for {more}"
    return sentence
