"""The candidates, each with what the policy says of it: configurations of masks, and those that are none.

Generated configurations are aimed at the policy: where fewer satisfy it than were asked for, stronger ones are made
beside them. Tables that were anonymized elsewhere are read and judged as they are written; other kinds are made on the
spot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import ibis

from aegis.commands.advise import Advise
from aegis.counts.answer import ask, count_rows
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import count_classes
from aegis.counts.joint import TableCounts
from aegis.data.dataset import Dataset
from aegis.data.engine import as_dataset, open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Roles
from aegis.errors import DataError, LabelError, PolicyNotSatisfiedError
from aegis.learners.finished import FinishedTable, GeneralisedTable, finished_table
from aegis.learners.sample import Sample, draw_sample
from aegis.library.advising.candidate_kinds import CandidateInputs, MadeCandidate, make_candidates
from aegis.library.ledgers.constraints import Constraints, judging
from aegis.library.ledgers.earlier_promises import masks_to_repeat, why_masked_otherwise
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.ledgers.row_by_row import check_same_rows
from aegis.library.tables.judging import check_identifying, classes_of, refuse_sanitized
from aegis.library.tables.proposals import generated, propose, to_be_masked
from aegis.masking.configuration import Configuration
from aegis.plural import count
from aegis.privacy.judgement import judge_all
from aegis.privacy.together import KNOWN_CLASS, Together, judge_together
from aegis.ranking.verdicts import CandidateVerdict, Verdicts
from aegis.releases.row_digest import POSITION
from aegis.releases.write import look_into

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
        verdicts_of = judging(self.dataset, self.constraints)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTable:
    """A finished table with what the policy says of it; ``doubt`` says why models cannot compare it, if they cannot."""

    name: str
    id: str
    candidate: FinishedTable | GeneralisedTable
    verdict: CandidateVerdict | None
    reason: str

    @property
    def doubt(self) -> str | None:
        return self.candidate.doubt


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


def judge_others(options: Advise, dataset: Dataset, sample: Sample, constraints: Constraints | None) -> OtherCandidates:
    """Finished tables, judged row by row, and candidates made on the spot, judged as they are made."""
    candidates: list[JudgedTable | MadeCandidate] = [*judged_tables(options.tables, dataset, sample, constraints)]
    if constraints is None:
        return OtherCandidates(passed=tuple(candidates))
    inputs = CandidateInputs(
        constraints=constraints,
        sample=sample,
        seed=options.seed,
        seconds=options.seconds,
        progress=options.progress,
        ways=options.ways,
    )
    makings = make_candidates(options.candidates, inputs)
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


def judged_tables(
    paths: Sequence[str | Path], dataset: Dataset, sample: Sample, constraints: Constraints | None
) -> list[JudgedTable]:
    """Read ``paths``, each the records of ``dataset`` anonymized in some way, and judge them as they are.

    Where something was released from the table before they must be in its order, and are judged together with that.
    """
    rows = count_rows(dataset.table) if paths else 0
    return [_judged(Path(path), rows, dataset, sample, constraints) for path in paths]


def _judged(path: Path, rows: int, dataset: Dataset, sample: Sample, constraints: Constraints | None) -> JudgedTable:
    if constraints is not None:
        refuse_sanitized(path, constraints.policy)
    written = open_dataset(path, as_text=True, roles=Roles())  # judged as it is written: 1 and 1.0 are two values
    if sample.label not in written.schema:
        raise LabelError(f"{path.name} has no column {sample.label!r}; give a table that holds the label")
    strange = [name for name in written.schema.names if name != sample.label and name not in sample.codes]
    if all(name in strange for name in written.schema.names if name != sample.label):
        raise DataError(f"{path.name} shares no column with the table beside the label; give the same table, masked")
    unknown = [name for name in written.schema.names if name not in dataset.schema.names]
    if unknown:
        raise DataError(
            f"{path.name} has {count(len(unknown), 'column')} that the table does not have, as {unknown[0]!r}; "
            "give the same table, masked"
        )
    quasi = [name for name in dataset.roles.quasi_identifying if name != sample.label]
    classes: ClassTable | None = None
    verdict: CandidateVerdict | None = None
    if constraints is not None:
        policy, hierarchies = constraints.policy, constraints.hierarchies
        classes = classes_of(written, policy, constraints.roles, released=True, hierarchies=hierarchies)
    elif quasi:
        classes = count_classes(written, quasi, released=True)
    if classes is not None and classes.records > rows:
        raise DataError(
            f"{path.name} has {classes.records:,} rows and the data {rows:,}: they are not the same records"
        )
    typed = open_dataset(path, roles=Roles(identifying=tuple(strange)))
    own = draw_sample(typed, label=sample.label, most_rows=max(sample.rows, 30), seed=sample.seed)
    if classes is not None and constraints is None:
        verdict = CandidateVerdict.without_policy(classes)
    elif classes is not None and constraints is not None:
        verdict = CandidateVerdict.of(judge_all(classes, constraints.policy, suppress=False))
        if verdict.satisfied and constraints.earlier is not None:
            verdict = verdict.beside(_together(written, constraints, constraints.earlier))
    candidate = finished_table(path.stem, own, sample)
    reason = candidate.reason
    if absent := [name for name in sample.codes if name not in written.schema]:
        reason += f"; it lacks {', '.join(absent)}"
    if classes is not None:
        reason += f"; {count(classes.classes, 'class', 'classes')}"
    return JudgedTable(
        name=path.stem,
        id=look_into(path, named=path).sha256[:12],
        candidate=candidate,
        verdict=verdict,
        reason=reason,
    )


def _together(written: Dataset, constraints: Constraints, earlier: EarlierReleases) -> Together:
    """What a table shows together with earlier releases, row by row."""
    shown, original, policy = ask(written.table), constraints.dataset, constraints.policy
    check_same_rows(ask(original.table), shown, source=original.name, finished=written.name)
    known_classes = ask(earlier.dataset.table.select(POSITION, KNOWN_CLASS).order_by(POSITION))[KNOWN_CLASS]
    beside = as_dataset(ibis.memtable(shown.append_column(KNOWN_CLASS, known_classes)), name=written.name)
    classes = classes_of(beside, policy, constraints.roles, hierarchies=constraints.hierarchies, known=True)
    return judge_together(classes, policy, gone=earlier.gone_from(classes), suppress=False)
