"""Rank configurations by what they keep of the label: the product's first question, as four verbs.

``count → judge → score → rank``: rows are counted once, the policy decides from the counts which candidates may leave,
those are scored, and the scores are ranked with reasons. A summary that a provider wrote has the first three behind it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from aegis._version import __version__
from aegis.commands.advise import Advise
from aegis.commands.fields import READING, ROLE_OPTIONS, TableLike
from aegis.counts.folder import is_summary, read_summary
from aegis.counts.summary import Summary, configuration_of
from aegis.data.output import check_apart, check_free, write_text
from aegis.errors import SummaryError
from aegis.library.counting import count, masked
from aegis.library.judging import judged
from aegis.library.opening import open_table
from aegis.library.proposals import find_hierarchies, gather, label_of, propose
from aegis.library.rank_tables import rank_tables
from aegis.library.scoring import pair_scores
from aegis.masking.configuration_file import as_text, check_ending
from aegis.measures.measure import MEASURES
from aegis.operation import operation
from aegis.ranking.rank import TOGETHER, rank
from aegis.ranking.ranking import Ranking


@operation(Advise)
def advise(options: Advise) -> Ranking:
    """Rank the configurations for a table, or for a summary that a provider wrote of one.

    Without a ``measure`` the best there is decides: pair prediction where pairs of attributes were counted, else
    leave-one-out information. With a ``policy`` only configurations that satisfy it are ranked.
    """
    _check(options)
    if options.tables:
        return rank_tables(options)
    started = time.perf_counter()
    data = options.data
    if isinstance(data, Summary) or is_summary(data):
        ranking, summary = _from_summary(options)
    else:
        ranking, summary = _from_table(data, options)
    ranking = replace(ranking, timing={**ranking.timing, "total_seconds": round(time.perf_counter() - started, 4)})
    _write(options, ranking, summary)
    return ranking


def _from_table(data: TableLike, options: Advise) -> tuple[Ranking, Summary]:
    dataset = open_table(data, options)
    hierarchies = find_hierarchies(options.hierarchies, data)
    started = time.perf_counter()

    given = gather(options.configs, hierarchies=hierarchies, data=data)
    label = label_of(options.label, dataset.roles.label, given)
    counted = count(  # ① rows → counts
        dataset, label=label, label_bins=options.label_bins, progress=options.progress
    )
    candidates = propose(given, options, counted, dataset.schema.names, seed=options.seed, hierarchies=hierarchies)
    verdicts = judged(candidates, dataset, options.policy, hierarchies=hierarchies)  # ② counts → verdicts
    counts = masked(counted, verdicts.passed, name=dataset.name)
    scores = pair_scores(  # ③ counts → scores
        counts, dataset, counted, names=_scores_wanted(options), seed=options.seed, progress=options.progress
    )
    ready = time.perf_counter()
    ranking = rank(  # ④ verdicts + scores → ranking
        counts,
        scores=scores,
        rejected=verdicts.rejected,
        measure=options.measure,
        reference=options.reference,
        rounding=options.rounding,
        seed=options.seed,
    )
    ended = time.perf_counter()
    timing = {"summary_seconds": ready - started, "ranking_seconds": ended - ready}
    if options.verify:
        from aegis.library.verified_ranking import with_verified  # an extra

        ranking = with_verified(
            ranking,
            counts,
            scores,
            dataset,
            shortlist=options.verify,
            seed=options.seed,
            jobs=options.jobs,
            progress=options.progress,
        )
        timing["verifying_seconds"] = time.perf_counter() - ended
    return replace(ranking, timing={name: round(seconds, 4) for name, seconds in timing.items()}), counts


def _from_summary(options: Advise) -> tuple[Ranking, Summary]:
    if options.verify:
        raise SummaryError("a summary holds no rows to train models on; verify where the table is")
    options.refuse(
        *("configs", "generate", "label_bins", "policy", "hierarchies"),
        *ROLE_OPTIONS,
        *READING,
        because="a summary brings its label, roles and configurations along",
    )
    summary = options.data if isinstance(options.data, Summary) else read_summary(Path(str(options.data)))
    if options.label != summary.label:
        options.refuse("label", because=f"the summary is of the label {summary.label!r}")
    ranking = rank(
        summary,
        measure=options.measure,
        reference=options.reference,
        rounding=options.rounding,
        seed=options.seed,
    )
    return ranking, summary


def _check(options: Advise) -> None:
    """A wrong name or an output in the way should not cost a pass over the rows."""
    if options.measure is not None:
        MEASURES[options.measure]
    for output in (options.report, options.save):
        if output is not None:
            check_free(Path(output), overwrite=options.overwrite)
    check_apart([options.report, options.save], [options.data, options.configs, options.policy])
    if options.save is not None:
        check_ending(Path(options.save))
    if options.verify:
        from aegis.evaluation.models import check_models  # an extra
        from aegis.evaluation.verify import CHEAP_MODELS

        check_models(CHEAP_MODELS)


def _scores_wanted(options: Advise) -> tuple[str, ...]:
    """The scores of whole configurations that the ranking asks for, and the second opinion of a shortlist."""
    measure = options.measure or TOGETHER
    wanted = (measure,) if MEASURES[measure].of_whole_configurations else ()
    if not options.verify:
        return wanted
    from aegis.evaluation.verify import SECOND_OPINION  # an extra

    return tuple(dict.fromkeys([*wanted, SECOND_OPINION]))


def _write(options: Advise, ranking: Ranking, summary: Summary) -> None:
    if options.save is not None:
        path = Path(options.save)
        best = configuration_of(summary, ranking.best.configuration)
        write_text(path, as_text([best], path=path), overwrite=options.overwrite)
    if options.report is not None:
        from aegis.report.ranking_report import render_ranking  # an extra

        page = render_ranking(ranking, summary, version=__version__)
        write_text(Path(options.report), page, overwrite=options.overwrite)
