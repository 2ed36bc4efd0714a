"""Rank configurations by what they keep of the label: the product's first question."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from aegis._version import __version__
from aegis.advisor.pair_scores import PAIR_SCORES
from aegis.advisor.rank import rank
from aegis.advisor.ranking import Ranking
from aegis.advisor.reference import Reference, Rounding, parse_reference
from aegis.data.output import check_apart, check_free, write_text
from aegis.errors import ConfigurationError
from aegis.masking.configuration_file import as_text
from aegis.summaries.folder import is_summary, read_summary
from aegis.summaries.summary import Summary, configuration_of
from aegis.utility.measure import MEASURES
from aegis.workflows.summarize import DEFAULT_PAIR_SCORES, summarize


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
    **options: Any,
) -> Ranking:
    """Rank the configurations for ``data``: a table, or a summary folder (or object) that a provider wrote.

    For a table, ``options`` are those of `summarize`: label, configurations or generate, roles, …; a summary brings
    its label and configurations along. Without a ``measure`` the best there is decides: pair prediction where pairs of
    attributes were counted, else leave-one-out information. ``report`` is the HTML file to write, ``save`` the YAML or
    JSON file that receives the best configuration.
    """
    # A wrong name or an output in the way should not cost a pass over the rows.
    if measure is not None and measure not in PAIR_SCORES:
        MEASURES[measure]
    parse_reference(reference)
    for output in (report, save):
        if output is not None:
            check_free(Path(output), overwrite=overwrite)
    check_apart([report, save], [data, options.get("configurations"), options.get("policy")])
    started = time.perf_counter()
    options.setdefault("pair_scores", _needed(measure))
    summary = _summary(data, seed=seed, **options)
    counted = time.perf_counter()
    ranking = rank(summary, measure=measure, reference=reference, rounding=rounding, seed=seed)
    ended = time.perf_counter()
    ranking = replace(
        ranking,
        timing={
            "summary_seconds": round(counted - started, 4),
            "ranking_seconds": round(ended - counted, 4),
            "total_seconds": round(ended - started, 4),
        },
    )
    if save is not None:
        best = configuration_of(summary, ranking.best.configuration)
        write_text(Path(save), as_text([best], path=Path(save)), overwrite=overwrite)
    if report is not None:
        from aegis.report.ranking_report import render_ranking  # an extra

        write_text(Path(report), render_ranking(ranking, summary, version=__version__), overwrite=overwrite)
    return ranking


def _needed(measure: str | None) -> tuple[str, ...]:
    """The pair scores that a ranking by ``measure`` asks for."""
    if measure is None:
        return DEFAULT_PAIR_SCORES
    return (measure,) if measure in PAIR_SCORES else ()


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
