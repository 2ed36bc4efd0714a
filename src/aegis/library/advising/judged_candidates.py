"""The candidates that are no configurations of masks, each with what the policy says of it.

Tables that were anonymized elsewhere are read and judged as they are written; other kinds are made on the spot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ibis

from aegis.commands.advise import Advise
from aegis.counts.answer import ask, count_rows
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import count_classes
from aegis.data.dataset import Dataset
from aegis.data.engine import as_dataset, open_dataset
from aegis.data.schema import Roles
from aegis.errors import DataError, LabelError
from aegis.learners.finished import FinishedTable, GeneralisedTable, finished_table
from aegis.learners.sample import Sample, draw_sample
from aegis.library.advising.candidate_kinds import CandidateInputs, MadeCandidate, make_candidates
from aegis.library.advising.judged import OtherCandidates
from aegis.library.ledgers.constraints import Constraints
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.ledgers.row_by_row import check_same_rows
from aegis.library.tables.judging import classes_of, refuse_sanitized
from aegis.plural import count
from aegis.privacy.judgement import judge_all
from aegis.privacy.together import KNOWN_CLASS, Together, judge_together
from aegis.ranking.verdicts import CandidateVerdict
from aegis.releases.row_digest import POSITION
from aegis.releases.write import look_into


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
    try:
        own = draw_sample(typed, label=sample.label, most_rows=max(sample.rows, 30), seed=sample.seed)
    except (LabelError, DataError) as error:  # what is wrong with this table is not wrong with the data
        raise type(error)(f"{path.name}: {error}") from None
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
