"""Rankings for several labels to one: by the share of the gain over guessing that is kept, on average over them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from aegis.learners.goal import KEPT
from aegis.learners.race_result import Reached
from aegis.ranking.ranking import RankedConfiguration, Ranking


def rank_for_labels(rankings: Sequence[Ranking], *, skipped: Mapping[str, str]) -> Ranking:
    """The candidates by the mean of what they keep; a label that nothing tells is left out of the mean.

    The reasons name the label for which a candidate keeps least. ``labels`` of the answer holds a ranking for each.
    """
    telling = [ranking for ranking in rankings if _tells(ranking)] or list(rankings)
    places = [_place(name, telling) for name in _names(rankings)]
    places.sort(key=lambda place: (place.doubt is not None, -(place.performance or 0.0)))
    best = places[0]
    ranked = tuple(
        replace(place, rank=rank, like_best=place.doubt is None and _overlap(best, place))
        for rank, place in enumerate(places, start=1)
    )
    first = rankings[0]
    assert first.race is not None
    untold = [ranking.label for ranking in rankings if ranking not in telling]
    notes = [f"ranked for {len(rankings)} labels by the mean of what is kept: {', '.join(r.label for r in rankings)}"]
    if untold:
        notes.append(f"no model does better than guessing for {', '.join(untold)}: left out of the mean")
    return replace(
        first,
        label=", ".join(ranking.label for ranking in rankings),
        measure=KEPT.name,
        unit=KEPT.title,
        higher_is_better=True,
        ranking=ranked,
        race=replace(
            first.race,
            goal=KEPT.name,
            goal_reason="several labels are to be predicted",
            unmasked=Reached(performance=1.0, interval=(1.0, 1.0), half_width=0.0),
            guessing=0.0,
            label_told=any(_tells(ranking) for ranking in rankings),
            interrupted=any(ranking.race is not None and ranking.race.interrupted for ranking in rankings),
        ),
        skipped={**first.skipped, **skipped},
        notes=tuple(notes),
        labels=tuple(rankings),
    )


def _tells(ranking: Ranking) -> bool:
    """Whether models of the unmasked table are better than guessing by more than chance."""
    return ranking.race is not None and ranking.race.label_told


def _names(rankings: Sequence[Ranking]) -> list[str]:
    return [place.configuration for place in sorted(rankings[0].ranking, key=lambda place: place.configuration)]


def _place(name: str, rankings: Sequence[Ranking]) -> RankedConfiguration:
    own = {
        ranking.label: next(place for place in ranking.ranking if place.configuration == name) for ranking in rankings
    }
    shares = {label: place.kept or 0.0 for label, place in own.items()}
    first = next(iter(own.values()))
    worst = min(shares, key=lambda label: shares[label])
    mean = float(np.mean(list(shares.values())))
    halves = [_half_of_kept(own[ranking.label], ranking) for ranking in rankings]
    half = math.hypot(*halves) / len(halves)
    return replace(
        first,
        performance=mean,
        kept=mean,
        interval=KEPT.interval(mean, half),
        half_width=half,
        no_loss_found=all(place.no_loss_found for place in own.values()),
        loss_interval=(1.0 - mean - half, 1.0 - mean + half),
        doubt=next((place.doubt for place in own.values() if place.doubt is not None), None),
        reasons=(f"keeps least for {worst}: {shares[worst]:.0%}",),
        attributes=(),
    )


def _half_of_kept(place: RankedConfiguration, ranking: Ranking) -> float:
    """Half of the interval of the share that is kept: that of the performance, as a share of the gain over guessing."""
    assert ranking.race is not None
    gain = abs(ranking.race.unmasked.performance - ranking.race.guessing)
    return place.half_width / gain if gain > 0 else 0.0


def _overlap(best: RankedConfiguration, place: RankedConfiguration) -> bool:
    """Whether the two may be equal; their rows are the same, so this is never too narrow."""
    widths = [candidate.half_width for candidate in (best, place)]
    return (best.performance or 0.0) - (place.performance or 0.0) <= math.hypot(*widths) + 1e-12
