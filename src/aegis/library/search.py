"""Search for the configuration that keeps most of the label and satisfies the policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aegis.candidates.search.board import Candidate, reporting
from aegis.candidates.search.search import automatic_hierarchies
from aegis.candidates.search.search import search as search_classes
from aegis.commands.search import Search
from aegis.counts.class_table import ClassTable
from aegis.counts.collect import count_table
from aegis.counts.joint import check_classes, check_filled
from aegis.data.hierarchy import file_name, write_hierarchies
from aegis.data.output import check_free, write_text
from aegis.data.schema import Roles
from aegis.errors import LabelError
from aegis.learners.candidate import MaskTables
from aegis.learners.goal import goal_called
from aegis.learners.race import race
from aegis.learners.race_result import RaceResult
from aegis.library.advising.racing import masked_candidate, sample_for_masks
from aegis.library.advising.searched_kind import counts_for_search
from aegis.library.ledgers.constraints import Constraints, constraints_on
from aegis.library.search_boxes import FoundBoxes, search_boxes
from aegis.library.tables.judging import read_policy
from aegis.library.tables.opening import (
    check_quasi_identifying,
    declared_orders,
    find_hierarchies,
    open_table,
    with_orders,
)
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import as_text, check_ending, configurations_from_mapping, to_mapping
from aegis.masking.mask import Mask
from aegis.operation import operation
from aegis.privacy.policy import Suppressed
from aegis.ranking.verdicts import verdicts_on
from aegis.result import Result, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCandidate:
    """A configuration that satisfies the policy, its masks in words.

    ``levels`` are their numbers in the hierarchies, empty where the columns were cut freely. ``risk`` is the highest
    chance of re-identification of a record that keeps its values.
    """

    utility: float
    risk: float
    suppressed: int
    classes: int
    smallest_class: int
    levels: Mapping[str, int]
    masks: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedCandidate:
    """A configuration of the shortlist, in words, with what models reach on it, its 95 % interval and what is kept."""

    configuration: Mapping[str, str]
    utility: float
    performance: float
    interval: tuple[float, float]
    kept: float | None
    in_best_group: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Result):
    """The best configuration and what is known about better ones.

    No configuration of the space searched has a utility beyond ``bound``, which is None where all that is known is that
    none tells more than the label itself; with ``proved`` there is none beyond ``utility``. ``cut_short`` says that the
    time was over before the search ended by itself. ``nodes`` is how many configurations were weighed,
    ``lattice_nodes`` how many the levels make. ``front`` lists configurations of which none beats another in both
    utility and risk, least risk first: all of them if ``front_complete``. ``shortlist`` begins with the best by
    utility; ``trained`` are those that models were trained on, of which the best by ``goal`` was taken, with what the
    ``unmasked`` table and ``guessing`` reach. ``together_with`` are the releases of the table's ledger that it
    satisfies the policy together with.
    """

    configuration: Configuration
    space: str
    measure: str
    unit: str
    levels: Mapping[str, int]
    utility: float
    bound: float | None
    proved: bool
    interrupted: bool
    cut_short: bool
    nodes: int
    lattice_nodes: int | None
    records: int
    suppressed: int
    classes: int
    smallest_class: int
    front: tuple[FoundCandidate, ...]
    front_complete: bool
    shortlist: tuple[FoundCandidate, ...]
    trained: tuple[TrainedCandidate, ...] = ()
    goal: str | None = None
    unmasked: float | None = None
    guessing: float | None = None
    together_with: tuple[int, ...] = ()

    @property
    def words(self) -> dict[str, str]:
        """The masks in words."""
        return _in_words(self.configuration.masks)

    @property
    def exit_status(self) -> int:
        return 130 if self.interrupted else 0

    @property
    def headline(self) -> str:
        return (
            f"{self.measure} of {self.utility:.5f} {self.unit} in {self.classes:,} classes, "
            f"{self.suppressed:,} of {self.records:,} records suppressed"
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """That somebody stopped the search."""
        return ("interrupted: this is the best so far, and it satisfies the policy",) if self.interrupted else ()

    def reached(self, trained: TrainedCandidate) -> str:
        """What models reach on one that was trained on, beside the unmasked table and guessing."""
        assert self.goal is not None
        assert self.unmasked is not None
        assert self.guessing is not None
        low, high = trained.interval
        return goal_called(self.goal).sentence(
            trained.performance, (high - low) / 2, unmasked=self.unmasked, guessing=self.guessing
        )

    def table_rows(self) -> list[dict[str, Any]]:
        return [{"column": column, "mask": mask} for column, mask in self.words.items()]

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis search --json`` prints; ``definition`` is the configuration as a file holds it."""
        figures = {name: plain(getattr(self, name)) for name in self.__dataclass_fields__ if name != "configuration"}
        return {
            "configuration": self.words,
            "id": self.configuration.id,
            **figures,
            "definition": to_mapping(self.configuration),
        }

    @classmethod
    def fields_in(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        (configuration,) = configurations_from_mapping(content["definition"], name="best")
        return {**content, "configuration": configuration}


@operation(Search)
def search(options: Search) -> Found | FoundBoxes:
    """Find the best configuration of the quasi-identifiers that satisfies the policy.

    The rows are counted once; the search works on the distinct tuples. ``out`` receives the configuration, with label
    and roles. Without ``seconds`` it goes on until there is a proof. With ``space="boxes"`` the best local recoding is
    found instead, and ``out`` receives its boxes.

    Example::

        aegis.search("clinic.csv", policy="policy.yaml", space="levels", seconds=5, train=1)
    """
    if options.out is not None:
        check_free(options.out, overwrite=options.overwrite)
        if options.space != "boxes":
            check_ending(Path(options.out))
    policy = read_policy(options.policy, person=options.person)
    if options.space == "cuts" and not policy.hierarchical and options.save_hierarchies is None:
        options.refuse("hierarchies", because="free cuts go by no hierarchy")
    dataset = open_table(options.data, options)
    own = dataset.roles if options.label is None else dataset.roles.overridden_by(Roles(label=options.label))
    roles = policy.roles_in(dataset.schema, own)
    label = roles.label
    if label is None:
        raise LabelError("no label is given; name the column to be predicted with --label or in the roles file")
    dataset.schema.check(label, error=LabelError)
    hierarchies = find_hierarchies(options.hierarchies, options.data)
    constraints = constraints_on(options.data, dataset, options, policy=policy, roles=roles, hierarchies=hierarchies)
    if options.space == "boxes":
        return search_boxes(options, constraints, label)
    searched = counts_for_search(constraints, label)
    table, repeated, earlier = searched.counts, searched.repeated, constraints.earlier
    declared = declared_orders(options.order)
    check_quasi_identifying(declared, table)
    table = with_orders(table, {**dataset.orders, **declared})
    check_classes(label, table.contents[label].totals)
    empty = "drop it, or take it out of the quasi-identifiers"
    check_filled(dict(zip(table.columns, table.domains, strict=True)), what_to_do=empty)
    if options.save_hierarchies is not None:
        for column in {*table.columns, *hierarchies}:
            check_free(Path(options.save_hierarchies) / file_name(dataset.name, column), overwrite=options.overwrite)
    measure: dict[str, Any] = {} if options.measure is None else {"measure": options.measure}
    result = search_classes(
        table,
        label=label,
        policy=policy,
        hierarchies=hierarchies,
        space=options.space,
        shortlist=max(10, options.train),
        seconds=options.seconds,
        progress=reporting(options.progress),
        out=searched.out,
        **measure,
    )
    raced = None
    best = result.best
    tried = {str(number): candidate for number, candidate in enumerate(result.shortlist[: options.train], start=1)}
    if tried:
        raced = _raced(tried, table, constraints, label, options, repeated)
        best = tried[raced.best.name]
    configuration = Configuration(name="best", masks={**best.masks, **repeated}, label=label, roles=roles)
    if options.save_hierarchies is not None:
        used = {**automatic_hierarchies(table), **hierarchies}
        write_hierarchies(used, options.save_hierarchies, dataset=dataset.name)
    if options.out is not None:
        text = as_text([configuration], path=Path(options.out))
        write_text(Path(options.out), text, overwrite=options.overwrite)
    return Found(
        configuration=configuration,
        space=result.space,
        measure=result.measure,
        unit=result.unit,
        levels=dict(best.levels),
        utility=best.utility,
        bound=result.bound if result.bound_tells and math.isfinite(result.bound) else None,
        proved=result.proved,
        cut_short=result.cut_short,
        interrupted=result.interrupted,
        nodes=result.nodes,
        lattice_nodes=result.lattice_nodes,
        records=result.records,
        suppressed=best.suppressed,
        classes=best.classes,
        smallest_class=best.smallest_class,
        front=tuple(_described(candidate) for candidate in result.front),
        front_complete=result.front_complete,
        shortlist=tuple(_described(candidate) for candidate in result.shortlist),
        together_with=() if earlier is None else tuple(earlier.counted),
        trained=()
        if raced is None
        else tuple(
            TrainedCandidate(
                configuration=_in_words(tried[place.name].masks),
                utility=tried[place.name].utility,
                performance=place.performance,
                interval=place.interval,
                kept=place.kept,
                in_best_group=place.in_best_group,
            )
            for place in raced.ranking
        ),
        goal=None if raced is None else raced.goal,
        unmasked=None if raced is None else raced.unmasked.performance,
        guessing=None if raced is None else raced.guessing,
    )


def _in_words(masks: Mapping[str, Mask]) -> dict[str, str]:
    return {column: mask.describe() for column, mask in masks.items()}


def _described(candidate: Candidate) -> FoundCandidate:
    return FoundCandidate(
        utility=candidate.utility,
        risk=candidate.risk,
        suppressed=candidate.suppressed,
        classes=candidate.classes,
        smallest_class=candidate.smallest_class,
        levels=dict(candidate.levels),
        masks=_in_words(candidate.masks),
    )


def _raced(
    tried: Mapping[str, Candidate],
    table: ClassTable,
    constraints: Constraints,
    label: str,
    options: Search,
    repeated: Mapping[str, Mask],
) -> RaceResult:
    """What models reach on each of the shortlist, released as the policy suppresses.

    In ``table`` the masks are on already that sensitive columns left with, and that are ``repeated``.
    """
    dataset, policy, roles = constraints.dataset, constraints.policy, constraints.roles
    counted = count_table(dataset, label=label)
    tables = MaskTables(sample_for_masks(dataset, counted, goal=options.goal, label_bins=None, seed=options.seed))
    configurations = [
        Configuration(name=name, masks=candidate.masks, label=label, roles=roles) for name, candidate in tried.items()
    ]
    verdicts = verdicts_on(configurations, table, policy)
    dropped = policy.suppressed is Suppressed.DROPPED
    candidates = [
        masked_candidate(
            replace(configuration, masks={**configuration.masks, **repeated}),
            tables,
            verdicts[configuration.name],
            dropped=dropped,
        )
        for configuration in configurations
    ]
    return race(candidates, tables, goal=options.goal, seed=options.seed, progress=options.progress)
