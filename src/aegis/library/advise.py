"""Rank configurations by what they keep of the label: the product's first question."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from aegis._version import __version__
from aegis.counts.folder import is_summary, read_summary
from aegis.counts.summary import Summary, configuration_of
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.output import check_apart, check_free, write_text
from aegis.errors import ConfigurationError, MeasureError, SummaryError
from aegis.library.candidates import find_hierarchies
from aegis.library.keywords import check_keywords
from aegis.library.summarize import DEFAULT_PAIR_SCORES, summarize
from aegis.masking.configuration_file import as_text, check_ending
from aegis.measures.measure import MEASURES
from aegis.ranking.rank import rank
from aegis.ranking.ranking import Ranking
from aegis.ranking.reference import Reference, Rounding, parse_reference

_READING = ("roles", "engine", "table", "delimiter", "encoding", "missing", "as_text")
"""The options that say how a table is opened."""


def advise(
    data: Any,
    *,
    measure: str | None = None,
    reference: Reference | str = Reference.AUTO,
    rounding: Rounding | str = Rounding.RANDOMISED,
    seed: int = 0,
    report: str | Path | None = None,
    save: str | Path | None = None,
    overwrite: bool = False,
    verify: int = 0,
    jobs: int = 1,
    **options: Any,
) -> Ranking:
    """Rank the configurations for ``data``: a table, or a summary folder (or object) that a provider wrote.

    For a table, ``options`` are those of `summarize`: label, configurations or generate, roles, …; a summary brings
    its label and configurations along. Without a ``measure`` the best there is decides: pair prediction where pairs of
    attributes were counted, else leave-one-out information. ``report`` is the HTML file to write, ``save`` the YAML or
    JSON file that receives the best configuration.

    ``verify`` tries a shortlist of so many on rows (scikit-learn, in ``jobs`` processes): cheap models are trained and
    tested, and the shortlist comes first in the order of their accuracy.
    """
    check_keywords(advise, options, passed_on_to=(summarize,))
    # A wrong name or an output in the way should not cost a pass over the rows.
    if measure is not None:
        MEASURES[measure]
    parse_reference(reference)
    for output in (report, save):
        if output is not None:
            check_free(Path(output), overwrite=overwrite)
    check_apart([report, save], [data, options.get("configurations"), options.get("policy")])
    if save is not None:
        check_ending(Path(save))
    if verify:
        _check_verifiable(data, verify)
        data, options = _opened(data, options)
    started = time.perf_counter()
    options.setdefault("pair_scores", _needed(measure, verify))
    summary = _summary(data, seed=seed, **options)
    counted = time.perf_counter()
    ranking = rank(summary, measure=measure, reference=reference, rounding=rounding, seed=seed)
    ended = time.perf_counter()
    timing = {"summary_seconds": counted - started, "ranking_seconds": ended - counted}
    if verify:
        from aegis.library.verified_ranking import with_verified  # an extra

        progress = options.get("progress")
        ranking = with_verified(ranking, summary, data, shortlist=verify, seed=seed, jobs=jobs, progress=progress)
        timing["verifying_seconds"] = time.perf_counter() - ended
    timing["total_seconds"] = time.perf_counter() - started
    ranking = replace(ranking, timing={name: round(spent, 4) for name, spent in timing.items()})
    if save is not None:
        best = configuration_of(summary, ranking.best.configuration)
        write_text(Path(save), as_text([best], path=Path(save)), overwrite=overwrite)
    if report is not None:
        from aegis.report.ranking_report import render_ranking  # an extra

        write_text(Path(report), render_ranking(ranking, summary, version=__version__), overwrite=overwrite)
    return ranking


def _check_verifiable(data: Any, verify: int) -> None:
    """Raise before anything is counted where nothing could be tried afterwards."""
    from aegis.evaluation.models import check_models
    from aegis.evaluation.verify import CHEAP_MODELS

    if verify < 1:
        raise MeasureError("verifying tries at least one configuration; give a number of 1 or more")
    if isinstance(data, Summary) or is_summary(data):
        raise SummaryError("a summary holds no rows to train models on; verify where the table is")
    check_models(CHEAP_MODELS)


def _opened(data: Any, options: dict[str, Any]) -> tuple[Dataset, dict[str, Any]]:
    """The table itself, because its rows are wanted a second time, and the options that are not about opening it."""
    if isinstance(data, Dataset):
        return data, options
    reading = {name: options[name] for name in _READING if name in options}
    rest = {name: value for name, value in options.items() if name not in reading}
    rest["hierarchies"] = find_hierarchies(options.get("hierarchies"), data)
    return open_dataset(data, **reading), rest


def _needed(measure: str | None, verify: int) -> tuple[str, ...]:
    """The pair scores that a ranking by ``measure`` asks for, and the second opinion of a shortlist."""
    wanted: tuple[str, ...] = DEFAULT_PAIR_SCORES
    if measure is not None:
        wanted = (measure,) if MEASURES[measure].of_whole_configurations else ()
    if not verify:
        return wanted
    from aegis.evaluation.verify import SECOND_OPINION

    return tuple(dict.fromkeys([*wanted, SECOND_OPINION]))


def _summary(data: Any, *, seed: int, **options: Any) -> Summary:
    if not isinstance(data, Summary) and not is_summary(data):
        return summarize(data, seed=seed, **options)
    summary = data if isinstance(data, Summary) else read_summary(Path(data))
    given = [name for name in ("configurations", "generate", "label_bins", "policy") if options.get(name)]
    if options.get("label") not in (None, summary.label):
        given.append("label")
    if given:
        raise ConfigurationError(f"a summary brings its label and configurations along; leave out {', '.join(given)}")
    return summary
