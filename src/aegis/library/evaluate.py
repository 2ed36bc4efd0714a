"""Does the advisor choose well on this table? Train models on every candidate and see."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aegis.commands.evaluate import RELEASED, Evaluate
from aegis.counts.collect import count_table
from aegis.counts.collect_pairs import count_pairs
from aegis.counts.pair_counts import PairTables
from aegis.counts.summary import mask_counts
from aegis.data.output import check_free
from aegis.errors import ConfigurationError, InputError, LabelError
from aegis.evaluation.coded_rows import read_rows
from aegis.evaluation.evaluated import EvaluatedDraw, EvaluatedFamily, Evaluation, agreement, random_choice
from aegis.evaluation.gold import SECOND_OPINION, Candidate, gold_of, try_shortlist
from aegis.evaluation.long_work import ResultCache
from aegis.evaluation.models import GOLD_MODELS, check_models
from aegis.evaluation.selectors import Selection, select, table_scores
from aegis.evaluation.splits import SplitPlan
from aegis.learners.candidate import MaskedCandidate, MaskTables
from aegis.learners.race import race
from aegis.learners.sample import Sample
from aegis.library.advising.racing import sample_of
from aegis.library.evaluate_families import GIVEN, Family, FamilySource
from aegis.library.tables.opening import find_hierarchies, gather, label_of, open_table
from aegis.library.tables.proposals import checked
from aegis.masking.configuration import Configuration
from aegis.measures.measure import PairMeasure, measures_of
from aegis.operation import operation
from aegis.progress import Progress
from aegis.ranking.rank import TOGETHER

RACE = "race"
"""The name of what `aegis advise` does, among the ways of choosing."""


@operation(Evaluate)
def evaluate(options: Evaluate) -> Evaluation:
    """Train ``models`` on every candidate, the exhaustive way, and compare every way of choosing without training.

    ``families`` names several sets of ``generate`` candidates each, judged one by one: strengths of the generator,
    ``k-anonymous`` for what the search finds, ``released`` for masks mixed with noise, clustered and sanitized tables.
    ``tables`` are released tables of the same records in the same order to be judged as well. What is drawn at random
    is drawn ``draws`` times, from ``seed``, ``seed`` + 1, … on; splits stay the same. Results are kept in the file
    ``cache`` as they come, so that an interrupted run goes on where it stopped.

    Example::

        aegis.evaluate("clinic.csv", label="health", generate=3, models=["naive-bayes"], splits=1)
    """
    check_free(options.report, overwrite=options.overwrite)
    models = tuple(options.models) or GOLD_MODELS
    check_models(models)
    hierarchies = find_hierarchies(options.hierarchies, options.data)
    configurations = gather(options.configs, hierarchies=hierarchies, data=options.data)
    started = time.process_time()
    dataset = open_table(options.data, options)
    label = label_of(options.label, dataset.roles.label, configurations)
    counted = count_table(dataset, label=label, label_bins=options.label_bins)
    counting_seconds = time.process_time() - started
    rows = read_rows(dataset, counted, in_order=bool(options.tables) or RELEASED in options.families)
    source = FamilySource(
        dataset=dataset,
        counted=counted,
        rows=rows,
        hierarchies=hierarchies,
        seed=options.seed,
        label_bins=options.label_bins,
    )
    families = _families(options, source, configurations)
    for draw in (draw for draws in families for draw in draws):
        checked(list(draw.configurations), dataset.schema.names)
        if len(draw.configurations) + len(draw.tables) < 2:
            raise ConfigurationError("ways of choosing are compared on two candidates or more; give or --generate more")
    started = time.process_time()
    pairs = count_pairs(dataset, counted, seed=options.seed) if len(counted.joints) > 1 else None
    pair_seconds = time.process_time() - started
    started = time.process_time()
    sample: Sample | str
    try:
        sample = sample_of(dataset, counted, label_bins=options.label_bins, seed=options.seed)
        sample.target("accuracy")
    except (InputError, LabelError) as error:
        sample = f"the race is left out: {error}"
    sampling_seconds = time.process_time() - started
    plan = SplitPlan(
        splits=options.splits,
        most_training_rows=options.most_rows,
        most_test_rows=options.most_rows,
        seed=options.seed,
    )
    with ResultCache(None if options.cache is None else Path(options.cache)) as store:
        judge = _Judge(
            source=source,
            options=options,
            pairs=pairs,
            counting_seconds=counting_seconds,
            pair_seconds=pair_seconds,
            sample=sample,
            sampling_seconds=sampling_seconds,
            models=models,
            plan=plan,
            store=store,
        )
        judged = tuple(judge.family(draws) for draws in families)
    evaluation = Evaluation(
        name=dataset.name, rows=counted.rows, attributes=len(counted.joints), label=counted.label, families=judged
    )
    if options.report is not None:
        from aegis.report.evaluation_report import render_evaluation  # an extra
        from aegis.report.page import write_page

        page = render_evaluation(evaluation, default=TOGETHER)
        write_page(Path(options.report), page, overwrite=options.overwrite)
    return evaluation


def _families(options: Evaluate, source: FamilySource, configurations: list[Configuration]) -> list[tuple[Family, ...]]:
    """Every family that was named, and what the user brought; each once for every draw."""
    seeds = range(options.seed, options.seed + options.draws)
    if not options.families:
        published = tuple(source.published(table) for table in options.tables)
        name = GIVEN if configurations else options.strength
        return [
            tuple(
                Family(name=name, seed=seed, configurations=tuple(configurations + drawn), tables=published)
                for seed in seeds
                for drawn in [source.generated(options.generate, options.strength, seed=seed, masks=options.masks)]
            )
        ]
    families: list[tuple[Family, ...]] = []
    if configurations:
        families.append((Family(name=GIVEN, seed=options.seed, configurations=tuple(configurations)),))
    names = tuple(dict.fromkeys(options.families))
    for number, name in enumerate(names):
        if options.progress is not None:
            options.progress(number, len(names), f"making the family {name}")
        tables = options.tables if name == RELEASED else ()
        families.append(source.draws(name, options.generate, seeds=seeds, tables=tables))
    return families


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Judge:
    """What every family is judged with."""

    source: FamilySource
    options: Evaluate
    pairs: PairTables | None
    counting_seconds: float
    pair_seconds: float
    sample: Sample | str
    sampling_seconds: float
    models: tuple[str, ...]
    plan: SplitPlan
    store: ResultCache

    def family(self, draws: Sequence[Family]) -> EvaluatedFamily:
        judged = tuple(
            self._draw(draw, f"draw {number}, " if len(draws) > 1 else "") for number, draw in enumerate(draws, start=1)
        )
        why_not = self._why_no_race(draws[0])
        notes = draws[0].notes if why_not is None else (*draws[0].notes, why_not)
        return EvaluatedFamily(name=draws[0].name, draws=judged, notes=notes)

    def _why_no_race(self, family: Family) -> str | None:
        """Why the race cannot judge all candidates of a family; None if it can."""
        if isinstance(self.sample, str):
            return self.sample
        if family.tables:
            return "the race is left out: tables that no mask made have no rows in its sample; see advise --tables"
        if any(self.source.counted.label in configuration.columns for configuration in family.configurations):
            return "the race is left out: some configurations mask the label"
        return None

    def _draw(self, family: Family, which: str) -> EvaluatedDraw:
        selections = self._selections(family)
        candidates = [Candidate(rows=self.source.rows, configuration=candidate) for candidate in family.configurations]
        candidates += [
            Candidate(rows=candidate.rows, configuration=candidate.configuration) for candidate in family.tables
        ]
        gold = gold_of(
            candidates,
            label=self.source.counted.label,
            models=self.models,
            plan=self.plan,
            cache=self.store,
            jobs=self.options.jobs,
            progress=self._told(f"{family.name}, {which}"),
        )
        agreements = [agreement(s.selector, s.scores, gold.accuracies, cpu_seconds=self._spent(s)) for s in selections]
        if self.options.shortlist:
            best = next((s for s in selections if s.selector == TOGETHER), selections[0])
            second = next((s for s in selections if s.selector == SECOND_OPINION), best)
            tried = try_shortlist(
                candidates,
                best.scores,
                second=second.scores,
                label=self.source.counted.label,
                shortlist=self.options.shortlist,
                cache=self.store,
                jobs=self.options.jobs,
                progress=self._told(f"{family.name}, {which}shortlist: "),
            )
            spent = self._spent(best) + tried.cpu_seconds + (second.cpu_seconds if second is not best else 0.0)
            agreements.append(
                agreement(f"verify-{self.options.shortlist}", tried.scores, gold.accuracies, cpu_seconds=spent)
            )
        agreements.append(random_choice(gold.accuracies))
        in_order = sorted(agreements, key=lambda candidate: (candidate.regret, -candidate.spearman))
        return EvaluatedDraw(seed=family.seed, gold=gold, selectors=tuple(in_order))

    def _told(self, where: str) -> Progress | None:
        """Progress that says where it is before what was done."""
        report = self.options.progress
        return None if report is None else lambda done, total, what: report(done, total, where + what)

    def _spent(self, selection: Selection) -> float:
        """From the rows to the choice: a selector cannot do without the counts that it reads."""
        counts = self.counting_seconds + (self.pair_seconds if selection.selector in measures_of(PairMeasure) else 0.0)
        return counts + (self.sampling_seconds if selection.selector == RACE else 0.0) + selection.cpu_seconds

    def _selections(self, family: Family) -> list[Selection]:
        """The scores of every selector that can judge all candidates of the family."""
        summary = mask_counts(self.source.counted, family.configurations, name=self.source.dataset.name)
        selections = select(summary, pairs=self.pairs, seed=family.seed)
        if self._why_no_race(family) is None:
            selections.append(self._raced(family))
        if not family.tables:
            return selections
        started = time.process_time()
        scores = [table_scores(summary, candidate, seed=family.seed) for candidate in family.tables]
        spent = (time.process_time() - started) / max(len(scores[0]), 1)
        return [
            Selection(
                selector=candidate.selector,
                scores=np.append(candidate.scores, [score[candidate.selector] for score in scores]),
                cpu_seconds=candidate.cpu_seconds + spent,
            )
            for candidate in selections
            if all(candidate.selector in score for score in scores)
        ]

    def _raced(self, family: Family) -> Selection:
        """What the race says of configurations: places in its order, for the goal that models are judged by."""
        assert isinstance(self.sample, Sample)
        started = time.process_time()
        tables = MaskTables(self.sample)
        candidates = [MaskedCandidate(configuration, tables) for configuration in family.configurations]
        raced = race(candidates, tables, goal="accuracy", seed=family.seed)
        by_name = {place.name: place.performance for place in raced.ranking}
        return Selection(
            selector=RACE,
            scores=np.array([by_name[configuration.name] for configuration in family.configurations]),
            cpu_seconds=time.process_time() - started,
        )
