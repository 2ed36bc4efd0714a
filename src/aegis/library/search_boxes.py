"""Search for the local recoding that keeps most of the label and satisfies the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aegis.candidates.boxes.candidate import BoxesCandidate
from aegis.candidates.boxes.estimator import LocalRecoding
from aegis.candidates.boxes.in_words import ColumnRecoding, column_recodings
from aegis.candidates.boxes.recoding import Boxes
from aegis.candidates.boxes.tuples import check_to_keep, is_of_numbers
from aegis.candidates.search.classes import released_labels
from aegis.candidates.search.objective import DEFAULT_MEASURE, Objective
from aegis.commands.search import Search
from aegis.counts.class_table import ClassTable
from aegis.counts.collect import count_table
from aegis.counts.joint import check_filled
from aegis.data.output import PRIVATE, drafts_of
from aegis.errors import PolicyNotSatisfiedError, RoleError
from aegis.learners.candidate import MaskTables
from aegis.learners.goal import goal_called
from aegis.learners.race import race
from aegis.library.advising.boxes_together import counts_for_boxes, judge_boxes
from aegis.library.advising.racing import sample_of
from aegis.library.ledgers.constraints import Constraints
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.releasing.recode import hiding
from aegis.library.tables.unlisted import looks_identifying
from aegis.plural import count
from aegis.privacy.together import Together, without_known
from aegis.result import UNWRITTEN, Result, plain

SAYS_SOMETHING = 5e-6
"""A smaller utility is printed as nothing."""
EMPTY = "drop it, or take it out of the quasi-identifiers"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedBoxes:
    """What models reach on boxes cut on the training rows of each part, with its 95 % interval and what is kept."""

    goal: str
    performance: float
    interval: tuple[float, float]
    kept: float | None
    unmasked: float
    guessing: float

    def sentence(self) -> str:
        """What models reach, beside the unmasked table and guessing."""
        low, high = self.interval
        return goal_called(self.goal).sentence(
            self.performance, (high - low) / 2, unmasked=self.unmasked, guessing=self.guessing
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBoxes(Result):
    """The local recoding that a search found, in words and numbers.

    ``boxes`` is the recoding itself. It names values of the table, so it is not part of the JSON: what was read from
    there has None, and ``id`` says which it was. ``smallest_box`` leaves out what is suppressed. ``utility`` is that of
    the released tuple, comparable with what a search for masks says; None where the label is a number.
    ``together_with`` are the releases of the table's ledger that it satisfies the policy together with.
    """

    boxes: Boxes | None = field(default=None, metadata=UNWRITTEN)
    id: str
    label: str
    measure: str
    unit: str
    utility: float | None
    records: int
    suppressed: int
    boxes_made: int
    smallest_box: int
    most_cuts: int
    columns: tuple[ColumnRecoding, ...]
    trained: TrainedBoxes | None = None
    together_with: tuple[int, ...] = ()
    space: str = "boxes"

    @property
    def words(self) -> dict[str, str]:
        """What is done to each column."""
        return {recoding.column: recoding.describe() for recoding in self.columns}

    @property
    def headline(self) -> str:
        return (
            f"local recoding into {count(self.boxes_made, 'box', 'boxes')}, smallest {self.smallest_box:,}, "
            f"{self.suppressed:,} of {count(self.records, 'record')} suppressed"
        )

    @property
    def utility_note(self) -> str | None:
        """What a utility of nothing means here; None where it is above that."""
        if self.utility is None or self.utility >= SAYS_SOMETHING:
            return None
        return (
            "the measure takes every box for a value of its own and asks what the other records of a box say of the "
            "label; these boxes are too small for that. What is kept lies in intervals and sets that boxes share, and "
            "models read those: --train 1 says what they reach"
        )

    def table_rows(self) -> list[dict[str, Any]]:
        return [{"column": column, "recoding": recoding} for column, recoding in self.words.items()]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis search --space boxes --json`` prints, without the boxes themselves."""
        return {"recoding": self.words, **plain(self), "utility_note": self.utility_note}

    @classmethod
    def fields_in(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"together_with": (), **content}


def search_boxes(options: Search, constraints: Constraints, label: str) -> FoundBoxes:
    """Grow boxes for the label under the policy, as ``anonymize`` with ``method="boxes"`` does, and say what they do.

    They are grown for one release. Where something was released from the table they are judged together with it, and
    raise PolicyNotSatisfiedError where that breaks the policy.
    """
    dataset, roles, earlier = constraints.dataset, constraints.roles, constraints.earlier
    contents = tuple(dict.fromkeys((label, *roles.sensitive)))
    seen = counts_for_boxes(constraints, contents)
    table = seen if earlier is None else without_known(seen)
    content = table.contents[label]
    check_to_keep(label, content)
    check_filled(dict(zip(table.columns, table.domains, strict=True)), what_to_do=EMPTY)
    estimator = LocalRecoding(
        policy=constraints.policy,
        hierarchies=constraints.hierarchies if options.hierarchies is not None else None,
        random_state=options.seed,
    )
    identifying = (*roles.identifying, *looks_identifying(dataset, roles, masked=(label,)))
    boxes = hiding(estimator.fit_counts(table, labels=(label,), progress=options.progress), identifying)
    if earlier is not None:
        _check_together(boxes, seen, constraints, contents)
    objective = Objective.of(DEFAULT_MEASURE, content.totals)
    utility = None
    if not is_of_numbers(content.domain):
        labels = released_labels(estimator.judgement_.released, label, content.totals)
        utility = objective.turned(objective.value(labels))
    trained = _trained(options, constraints, label) if options.train else None
    if options.out is not None:
        with drafts_of([Path(options.out)], overwrite=options.overwrite, modes=[PRIVATE]) as drafts:
            drafts[0].write_text(boxes.to_text(), encoding="utf-8")
    return FoundBoxes(
        boxes=boxes,
        id=boxes.id,
        label=label,
        measure=objective.measure.name,
        unit=objective.measure.unit,
        utility=utility,
        records=boxes.records,
        suppressed=boxes.suppressed,
        boxes_made=len({n for leaf, n in zip(boxes.boxes, boxes.numbers.tolist(), strict=True) if not leaf.suppressed}),
        smallest_box=boxes.smallest_box,
        most_cuts=boxes.depth,
        columns=column_recodings(boxes),
        trained=trained,
        together_with=() if earlier is None else tuple(earlier.counted),
    )


def _check_together(boxes: Boxes, seen: ClassTable, constraints: Constraints, contents: tuple[str, ...]) -> None:
    """Raise where the best boxes break the policy together with earlier releases: with which releases, and which
    models."""
    together = judge_boxes(boxes, seen, constraints)
    if together.satisfied:
        return

    def judged_with(fewer: EarlierReleases) -> Together:
        as_if = replace(constraints, earlier=fewer)
        return judge_boxes(boxes, as_if.classes(contents=contents), as_if)

    assert constraints.earlier is not None
    refusal = constraints.earlier.refusal(together, judged_with)
    raise PolicyNotSatisfiedError(
        f"the best boxes may not be released: {refusal} (--space both looks for masks that hold together with it)"
    )


def _trained(options: Search, constraints: Constraints, label: str) -> TrainedBoxes:
    """What models reach; boxes are cut again on the training rows of each part, so that test rows have no say."""
    dataset, quasi = constraints.dataset, constraints.roles.quasi_identifying
    sample = sample_of(dataset, count_table(dataset, label=label), label_bins=None, seed=options.seed)
    absent = [column for column in quasi if column not in sample.codes]
    if absent:
        raise RoleError(f"{absent[0]!r} is quasi-identifying and could not be counted, so no model can be trained")
    candidate = BoxesCandidate(sample, constraints.policy, quasi, seed=options.seed)
    raced = race([candidate], MaskTables(sample), goal=options.goal, seed=options.seed, progress=options.progress)
    return TrainedBoxes(
        goal=raced.goal,
        performance=raced.best.performance,
        interval=raced.best.interval,
        kept=raced.best.kept,
        unmasked=raced.unmasked.performance,
        guessing=raced.guessing,
    )
