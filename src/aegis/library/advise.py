"""Rank candidates by what models reach on them: the product's first question, as four verbs.

``count → judge → score → rank``: rows are counted once, the policy decides from the counts which candidates may be
released, those race on one stated sample of the rows, and the result is ranked with reasons. A summary that a provider
wrote has the first three behind it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from aegis.commands.advise import Advise
from aegis.commands.fields import LEDGER_OPTIONS, READING, ROLE_OPTIONS, TableLike
from aegis.counts.collect import count_table
from aegis.counts.folder import is_summary, read_summary
from aegis.counts.joint import TableCounts
from aegis.counts.summary import Summary, configuration_of, mask_counts
from aegis.data.dataset import Dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.output import check_free, write_text
from aegis.errors import LabelError, OptionError, PolicyNotSatisfiedError, SummaryError
from aegis.learners.race_result import RaceResult
from aegis.learners.sample import Sample
from aegis.library.advising.candidate_kinds import CANDIDATES
from aegis.library.advising.judged import JudgedMasks, MasksToJudge, OtherCandidates
from aegis.library.advising.racing import CONTINUOUS_BINS, race_configurations, sample_for_masks, sample_of
from aegis.library.tables.opening import find_hierarchies, gather, labels_of, open_table
from aegis.loading import undisturbed
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import as_text, check_ending
from aegis.measures.measure import MEASURES
from aegis.operation import operation
from aegis.ranking.labels import rank_for_labels
from aegis.ranking.paper import PAPER_MEASURE
from aegis.ranking.raced import rank_raced
from aegis.ranking.rank import BY_ATTRIBUTE, TOGETHER, rank
from aegis.ranking.ranking import Privacy, RankedConfiguration, Ranking
from aegis.ranking.verdicts import CandidateVerdict, Verdicts

if TYPE_CHECKING:
    from aegis.library.ledgers.constraints import Constraints


@operation(Advise)
def advise(options: Advise) -> Ranking:
    """Rank the configurations for a table, or for a summary that a provider wrote of one.

    Candidates are ranked by what three small models, trained on part of a sample of the rows, reach on the rest; with
    ``fast``, a ``measure`` or ``paper`` from counts alone. With a ``policy`` only candidates that satisfy it are
    ranked.

    Example::

        aegis.advise("clinic.csv", configs="configurations", policy="policy.yaml")
    """
    _check(options)
    started = time.perf_counter()
    data = options.data
    if isinstance(data, Summary) or is_summary(data):
        ranking, summary = _from_summary(options)
    else:
        ranking, summary = _from_table(data, options)
    ranking = replace(ranking, timing={**ranking.timing, "total_seconds": round(time.perf_counter() - started, 4)})
    return _written(options, ranking, summary)


def _from_table(data: TableLike, options: Advise) -> tuple[Ranking, Summary]:
    dataset = open_table(data, options)
    hierarchies = find_hierarchies(options.hierarchies, data)
    given = gather(options.configs, hierarchies=hierarchies, data=data)
    labels = labels_of(options.label, dataset, given)
    if options.from_counts:
        if len(labels) > 1:
            raise LabelError("counts alone rank for one label; name one with --label, or let models judge several")
    elif len(labels) > 1:
        options.refuse("report", because="a report is about one label, and several are to be predicted")
    constraints = None
    if options.policy is not None:
        with undisturbed():
            from aegis.library.ledgers.constraints import constraints_on
            from aegis.library.tables.judging import read_policy

        policy = read_policy(options.policy, person=options.person)
        roles = policy.roles_in(dataset.schema, dataset.roles)
        # before anything is counted: what the ledger forbids is said at once
        constraints = constraints_on(data, dataset, options, policy=policy, roles=roles, hierarchies=hierarchies)
    pipeline = _Pipeline(
        options=options,
        dataset=dataset,
        hierarchies=hierarchies,
        constraints=constraints,
        given=given,
        labels=labels,
    )
    if len(labels) == 1:
        return pipeline.run(labels[0])
    answers: list[tuple[Ranking, Summary]] = []
    skipped: dict[str, str] = {}
    for number, label in enumerate(labels, start=1):
        try:
            answers.append(pipeline.run(label))
        except LabelError as error:
            if options.label is not None:
                raise
            skipped[label] = str(error)  # nobody asked for this one: each column is tried in turn
        if options.progress is not None:
            options.progress(number, len(labels), f"label {label}")
    if not answers:
        raise LabelError(f"no column can be predicted; the first that was tried: {next(iter(skipped.values()))}")
    return rank_for_labels([ranking for ranking, _ in answers], skipped=skipped), answers[0][1]


@dataclass(kw_only=True, eq=False)
class _Pipeline:
    """A table, what has to hold, and its candidates: proposed and judged once, whatever they are to predict."""

    options: Advise
    dataset: Dataset
    hierarchies: dict[str, Hierarchy]
    constraints: Constraints | None
    given: list[Configuration]
    labels: tuple[str, ...]
    masks: JudgedMasks | None = None

    def run(self, label: str) -> tuple[Ranking, Summary]:
        """The ranking for one label."""
        options, dataset = self.options, self.dataset
        by_models = not options.from_counts
        started = time.perf_counter()
        counts = count_table(  # ① rows → counts
            dataset,
            label=label,
            label_bins=options.label_bins,
            continuous_bins=CONTINUOUS_BINS if by_models else None,
            progress=options.progress,
        )
        masks = self._judged(counts)  # candidates are proposed; ② counts → verdicts
        verdicts = masks.verdicts if len(self.labels) == 1 else _with_label_unmasked(masks.verdicts, label)
        summary = mask_counts(counts, verdicts.passed, name=dataset.name)
        ready = time.perf_counter()
        others = OtherCandidates()
        if by_models:
            sample = self._sample(counts)
            if options.has_others:
                with undisturbed():
                    from aegis.library.advising.judged_candidates import judge_others

                constraints = None if self.constraints is None else self.constraints.of_label(label)
                others = judge_others(options, dataset, sample, constraints)  # ② for what is no masking
            raced = self._raced(verdicts, others, summary, sample)  # ③ a sample → scores
            ranking = self._ranked(counts, summary, verdicts, others, raced)  # ④ → ranking
        else:
            ranking = self._measured(counts, summary, verdicts)  # ③ counts → scores and ④ → ranking, in one call
        timing = {"counting_seconds": ready - started, "ranking_seconds": time.perf_counter() - ready}
        ranking = replace(
            ranking,
            configurations={configuration.name: configuration for configuration in masks.verdicts.passed}
            | others.configurations,
            timing={name: round(seconds, 4) for name, seconds in timing.items()},
            notes=(*ranking.notes, *masks.notes, *others.notes),
        )
        return ranking, self._with_people(summary)

    def _with_people(self, summary: Summary) -> Summary:
        """The summary with what a page has to know of people before it names a value."""
        if self.options.report is None:
            return summary
        from aegis.counts.named_from import named_from

        unit = self.options.person if self.constraints is None else self.constraints.policy.unit
        return replace(summary, named_from=named_from(self.dataset, unit))

    def _sample(self, counts: TableCounts) -> Sample:
        options = self.options
        bins, rows, seed = options.label_bins, options.rows, options.seed
        if options.has_others:
            return sample_of(self.dataset, counts, label_bins=bins, rows=rows, seed=seed)
        return sample_for_masks(self.dataset, counts, goal=options.goal, label_bins=bins, rows=rows, seed=seed)

    def _judged(self, counts: TableCounts) -> JudgedMasks:
        if self.masks is None:
            spared = set(self.labels) if self.options.label is not None else set()
            joints = {name: joint for name, joint in counts.joints.items() if name not in spared}
            self.masks = MasksToJudge(
                options=self.options,
                dataset=self.dataset,
                counts=replace(counts, joints=joints),  # generated ones leave the labels that were asked for
                hierarchies=self.hierarchies,
                constraints=self.constraints,
            ).judged(self.given)
        return self.masks

    def _raced(self, verdicts: Verdicts, others: OtherCandidates, summary: Summary, sample: Sample) -> RaceResult:
        """What models reach on each candidate that may be released."""
        if not verdicts.passed and not others.passed:
            rejected = {**verdicts.rejected, **others.rejected}
            whys = "".join(f"; {name}: {reason}" for name, reason in others.rejected.items())
            raise PolicyNotSatisfiedError(
                f"none of the {len(rejected)} candidates is left to rank: mask more, or search for one{whys}"
            )
        return race_configurations(
            verdicts,
            sample,
            goal=self.options.goal,
            policy=None if self.constraints is None else self.constraints.policy,
            changes=summary.changes,
            others=[other.candidate for other in others.passed],
            doubts={other.name: other.doubt for other in others.passed if other.doubt is not None},
            seed=self.options.seed,
            progress=self.options.progress,
        )

    def _ranked(
        self, counts: TableCounts, summary: Summary, verdicts: Verdicts, others: OtherCandidates, raced: RaceResult
    ) -> Ranking:
        """By what models reach, with what single attributes lost, the privacy of each and why others were rejected."""
        names = {configuration.name for configuration in verdicts.passed}
        best = next((candidate.name for candidate in raced.ranking if candidate.name in names), None)
        if not names:  # no masks among the candidates: what the columns tell is read off the table as it is
            summary = mask_counts(counts, [Configuration(name="as it is", masks={})], name=self.dataset.name)
        rejected = {**verdicts.rejected, **others.rejected}
        return rank_raced(
            rank(summary, measure=BY_ATTRIBUTE, rejected=rejected, compared_with=best, seed=self.options.seed),
            raced,
            privacy=_privacy({**verdicts.by_name, **others.verdicts}),
            ids={other.name: other.id for other in others.passed},
            reasons={other.name: (other.reason,) for other in others.passed},
            commands={other.name: other.command for other in others.made},
        )

    def _measured(self, counts: TableCounts, summary: Summary, verdicts: Verdicts) -> Ranking:
        """Ranked by a measure on counts."""
        options = self.options
        measure = options.measure or (TOGETHER if options.paper is None else PAPER_MEASURE)
        pairs = (measure,) if MEASURES[measure].of_whole_configurations else ()
        scores = {}
        if pairs:
            with undisturbed():
                from aegis.library.advising.scoring import pair_scores

            progress = options.progress
            scores = pair_scores(summary, self.dataset, counts, names=pairs, seed=options.seed, progress=progress)
        ranking = rank(
            summary,
            scores=scores,
            rejected=verdicts.rejected,
            measure=options.measure,
            reference=options.reference,
            rounding=options.rounding,
            paper=options.paper,
            seed=options.seed,
        )
        privacy = _privacy(verdicts.by_name)
        places = tuple(replace(place, privacy=privacy.get(place.configuration)) for place in ranking.ranking)
        return replace(ranking, ranking=places)


def _with_label_unmasked(verdicts: Verdicts, label: str) -> Verdicts:
    """The same candidates with the label in the clear: what is to be predicted is the column as it is."""
    passed = tuple(
        replace(
            configuration,
            masks={column: mask for column, mask in configuration.masks.items() if column != label},
            label=None,
        )
        for configuration in verdicts.passed
    )
    return replace(verdicts, passed=passed)


def _privacy(verdicts: Mapping[str, CandidateVerdict]) -> dict[str, Privacy]:
    return {
        name: Privacy(
            satisfied=verdict.satisfied,
            smallest_class=verdict.smallest_class,
            suppressed=verdict.suppressed,
            average_risk=verdict.average_risk,
        )
        for name, verdict in verdicts.items()
        if verdict.smallest_class
    }


def _from_summary(options: Advise) -> tuple[Ranking, Summary]:
    options.refuse(
        *(
            "configs",
            "generate",
            "label_bins",
            "policy",
            "person",
            "hierarchies",
            "tables",
            "candidates",
            "goal",
            "rows",
        ),
        *LEDGER_OPTIONS,
        *ROLE_OPTIONS,
        *READING,
        because="a summary brings its label, roles, configurations and scores along, and no rows",
    )
    summary = options.data if isinstance(options.data, Summary) else read_summary(Path(str(options.data)))
    if options.label != summary.label:
        options.refuse("label", because=f"the summary is of the label {summary.label!r}")
    if summary.race is not None and not options.from_counts:
        raced = RaceResult.from_json(summary.race)
        if {place.name for place in raced.ranking} != {configuration.name for configuration in summary.configurations}:
            raise SummaryError("the race of the summary is not of its configurations; write it again")
        by_counts = rank(summary, measure=BY_ATTRIBUTE, compared_with=raced.best.name, seed=options.seed)
        return rank_raced(by_counts, raced), summary
    ranking = rank(
        summary,
        measure=options.measure,
        reference=options.reference,
        rounding=options.rounding,
        paper=options.paper,
        seed=options.seed,
    )
    return ranking, summary


def _check(options: Advise) -> None:
    """A wrong name or an output in the way should not cost a pass over the rows."""
    if options.measure is not None:
        MEASURES[options.measure]
    for kind in options.candidates:
        CANDIDATES[kind]  # says which there are if it is not one of them
    if "masks" not in options.candidates:
        options.refuse("configs", "generate", because="configurations are masks, and --candidates leaves them out")
    if options.made_kinds and options.policy is None:
        raise OptionError(f"{', '.join(options.made_kinds)} are made to satisfy a policy; give one with --policy")
    if options.report is not None or options.save is not None:
        check_free(options.report, options.save, overwrite=options.overwrite)
    if options.save is not None:
        check_ending(Path(options.save))


def _written(options: Advise, ranking: Ranking, summary: Summary) -> Ranking:
    """The ranking once its files are written, with a note where the best is nothing that can be saved."""
    if options.save is not None:
        path = Path(options.save)
        best = ranking.best_of_masks
        if best is None:
            options.refuse("save", because="no configuration of masks was ranked, so there is none to keep")
        else:
            name = best.configuration
            made_on_the_spot = ranking.configurations.get(name) if best.kind != "masks" else None
            configuration = made_on_the_spot or configuration_of(summary, name)
            write_text(path, as_text([configuration], path=path), overwrite=options.overwrite)
            if best is not ranking.best:
                ranking = replace(ranking, notes=(*ranking.notes, _saved_another(ranking, best)))
    if options.report is not None:
        from aegis.report.ranking_report import render_ranking  # an extra

        page = render_ranking(ranking, summary)
        write_text(Path(options.report), page, overwrite=options.overwrite)
    return ranking


def _saved_another(ranking: Ranking, saved: RankedConfiguration) -> str:
    first = ranking.best
    again = f" (made by {first.command})" if first.command else ""
    return (
        f"the best is {first.configuration}, which is no configuration of masks{again}; saved is the best one that is, "
        f"{saved.configuration}, at rank {saved.rank}"
    )
