"""Rank configurations by what they keep of the label: the product's first question."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from aegis.advisor.rank import DEFAULT_MEASURE, rank
from aegis.advisor.ranking import Ranking
from aegis.advisor.reference import Reference
from aegis.errors import ConfigurationError
from aegis.summaries.folder import is_summary, read_summary
from aegis.summaries.summary import Summary
from aegis.utility.measure import MEASURES
from aegis.workflows.summarize import summarize


def advise(
    data: Any,
    *,
    measure: str = DEFAULT_MEASURE,
    reference: Reference | str = Reference.AUTO,
    seed: int = 0,
    **options: Any,
) -> Ranking:
    """Rank the configurations for ``data``: a table, or a summary folder (or object) that a provider wrote.

    For a table, ``options`` are those of `summarize`: label, configurations or generate, roles, …; a summary brings
    its label and configurations along.
    """
    MEASURES[measure]  # a wrong name should not cost a pass over the rows
    Reference(reference)
    started = time.perf_counter()
    summary = _summary(data, seed=seed, **options)
    counted = time.perf_counter()
    ranking = rank(summary, measure=measure, reference=reference, seed=seed)
    ended = time.perf_counter()
    return replace(
        ranking,
        timing={
            "summary_seconds": round(counted - started, 4),
            "ranking_seconds": round(ended - counted, 4),
            "total_seconds": round(ended - started, 4),
        },
    )


def _summary(data: Any, *, seed: int, **options: Any) -> Summary:
    if not isinstance(data, Summary) and not is_summary(data):
        return summarize(data, seed=seed, **options)
    given = sorted(name for name, value in options.items() if value not in (None, 0, (), False))
    unwanted = [name for name in given if name not in ("progress", "strength", "encoding")]
    if unwanted:
        raise ConfigurationError(
            f"a summary brings its label and configurations along; leave out {', '.join(unwanted)}"
        )
    return data if isinstance(data, Summary) else read_summary(data)
