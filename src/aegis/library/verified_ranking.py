"""Try a shortlist of a ranking on rows: cheap models, trained and tested, decide among the configurations on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby

import numpy as np

from aegis.counts.summary import ConfigurationScores, Summary, configuration_of
from aegis.data.dataset import Dataset
from aegis.errors import ConfigurationError
from aegis.evaluation.coded_rows import CodedRows, read_columns
from aegis.evaluation.verify import MOST_ROWS, SECOND_OPINION, Verified, in_turns, verify
from aegis.masking.plural import count
from aegis.progress import Progress
from aegis.ranking.ranking import RankedConfiguration, Ranking, VerifiedConfiguration


def with_verified(
    ranking: Ranking,
    summary: Summary,
    scores: Mapping[str, ConfigurationScores],
    dataset: Dataset,
    *,
    shortlist: int,
    seed: int = 0,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Ranking:
    """``ranking`` with a shortlist tried on rows and put first in the order of its accuracy.

    The shortlist is filled by the ranking and, where there is one, a second opinion in turns.
    """
    first = [configuration_of(summary, name) for name in _shortlist(ranking, summary, scores, shortlist)]
    if any(ranking.label in one.masks for one in first):
        raise ConfigurationError(
            "a configuration of the shortlist masks the label, and accuracies on different labels cannot be compared; "
            "leave out --verify or the mask"
        )
    tried = verify(
        _rows(summary, dataset, seed),
        first,
        range(len(first), 0, -1),
        label=ranking.label,
        shortlist=len(first),
        jobs=jobs,
        progress=progress,
    )
    return replace(
        ranking,
        ranking=_in_new_order(ranking, tried),
        verified=tuple(
            VerifiedConfiguration(configuration=one.configuration, accuracy=one.accuracy, interval=_share(one.interval))
            for one in tried.shortlist
        ),
        notes=(*ranking.notes, _said(tried)),
    )


def _shortlist(ranking: Ranking, summary: Summary, scores: Mapping[str, ConfigurationScores], size: int) -> list[str]:
    names = [configuration.name for configuration in summary.configurations]
    place = {name: i for i, name in enumerate(names)}
    ranked = np.array([place[one.configuration] for one in ranking.ranking])
    other = scores.get(SECOND_OPINION)
    second = ranked if other is None else np.argsort(-other.utilities, kind="stable")
    return [names[i] for i in in_turns(ranked, second, size)]


def _rows(summary: Summary, dataset: Dataset, seed: int) -> CodedRows:
    domains = {}
    for name, attribute in summary.attributes.items():
        assert attribute.domain is not None, "a table is summarised with its domains"
        domains[name] = attribute.domain
    return read_columns(
        dataset,
        label=summary.label,
        label_domain=summary.label_histogram.domain,
        domains=domains,
        rows=int(summary.rows),
        most_rows=MOST_ROWS,
        seed=seed,
    )


def _in_new_order(ranking: Ranking, tried: Verified) -> tuple[RankedConfiguration, ...]:
    """The shortlist by accuracy, equal accuracies on one place; behind it the others as they were."""
    by_name = {one.configuration: one for one in ranking.ranking}
    found: list[RankedConfiguration] = []
    alike = dict(zip((one.configuration for one in tried.shortlist), tried.like_best, strict=True))
    for _, group in groupby(tried.shortlist, key=lambda one: one.accuracy):
        place = len(found) + 1
        found += [replace(by_name[one.configuration], rank=place, like_best=alike[one.configuration]) for one in group]
    untried = [one for one in ranking.ranking if one.configuration not in alike]
    for _, behind in groupby(untried, key=lambda one: one.rank):
        place = len(found) + 1
        found += [replace(one, rank=place, like_best=False) for one in behind]
    return tuple(found)


def _share(interval: tuple[float, float]) -> tuple[float, float]:
    """An interval of a share ends where shares end."""
    return max(interval[0], 0.0), min(interval[1], 1.0)


def _said(tried: Verified) -> str:
    return (
        f"{count(len(tried.shortlist), 'configuration')} tried on rows and ranked by accuracy: "
        f"{', '.join(tried.models)}; {count(tried.plan.splits, 'split')}, {tried.training_rows:,} rows to train on, "
        f"{tried.cpu_seconds:.1f} CPU seconds"
    )
