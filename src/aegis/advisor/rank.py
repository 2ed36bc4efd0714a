"""Verdicts and numbers to a ranking: the configuration that keeps most comes first.

For measures that are monotone under merging, the smallest predictive utility deviation and the largest mean of the
masked values are the same configuration (docs/theory/ranking-without-reconstruction.md). The ranking uses what is
known exactly, the masked joints; the reference only decides how large the loss is said to be. The paper's
per-configuration reference ranks by its own deviations, as published.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.advisor.explain import reasons
from aegis.advisor.ranking import AttributeLoss, RankedConfiguration, Ranking
from aegis.advisor.reference import Reference, ReferenceValues, Rounding, parse_reference, reference_values
from aegis.advisor.scores import AttributeScores, score_attribute
from aegis.summaries.summary import AttributeSummary, Summary
from aegis.utility.deviation import is_borrowed, losses, retained_share
from aegis.utility.measure import MEASURES, Measure

DEFAULT_MEASURE = "leave-one-out-information"
_SURE = 1.96  # standard errors on each side of a 95 % interval

Floats = NDArray[np.float64]


def rank(
    summary: Summary,
    *,
    measure: str = DEFAULT_MEASURE,
    reference: Reference | str = Reference.AUTO,
    rounding: Rounding | str = Rounding.RANDOMISED,
    seed: int = 0,
) -> Ranking:
    """Rank the configurations of a summary."""
    chosen = MEASURES[measure]
    rng = np.random.default_rng(seed)
    scores = [score_attribute(attribute, summary, chosen, rng) for attribute in summary.attributes.values()]
    originals = reference_values(summary, chosen, parse_reference(reference), rng, rounding=Rounding(rounding))
    picked = np.array(
        [
            [one.index[configuration.masks[one.name], configuration.label_mask] for one in scores]
            for configuration in summary.configurations
        ]
    )
    masked = _take([one.values for one in scores], picked)
    errors = _take([one.standard_errors for one in scores], picked)
    original = None if originals.values is None else _originals(originals, picked)
    lost = None if original is None else losses(chosen, original, masked, absolute=originals.per_configuration)
    utility = masked.mean(axis=1)
    deviation = None if lost is None else lost.mean(axis=1)
    badness = deviation if deviation is not None else (-utility if chosen.higher_is_better else utility)
    retained = _retained(chosen, summary, original, masked)
    best = int(np.argmin(badness))
    like_best = _like_best(scores, picked, badness, best)
    behind = losses(chosen, masked[best], masked)
    half_width = _SURE * errors.mean(axis=1)  # as if all errors went the same way: never too narrow
    places = _places(badness)
    names = [c.name for c in summary.configurations]
    order = sorted(range(len(names)), key=lambda i: (places[i], names[i]))
    cards = _AttributeCards(scores, list(summary.attributes.values()), originals, chosen)
    ranking = []
    for i in order:
        configuration = summary.configurations[i]
        attributes = tuple(cards.card(a, int(picked[i, a])) for a in range(len(scores)))
        share = None if retained is None else float(retained[i])
        centre = float(utility[i]) if deviation is None else float(deviation[i])
        ranking.append(
            RankedConfiguration(
                rank=int(places[i]),
                configuration=configuration.name,
                id=configuration.id,
                utility=float(utility[i]),
                deviation=None if deviation is None else float(deviation[i]),
                retained=share,
                borrowed=share is not None and bool(is_borrowed(np.asarray(share))),
                interval=(centre - float(half_width[i]), centre + float(half_width[i])),
                like_best=bool(like_best[i]),
                attributes=attributes,
                reasons=reasons(attributes, behind[i].tolist(), retained=share, label=summary.label),
            )
        )
    return Ranking(
        label=summary.label,
        measure=chosen.name,
        unit=chosen.unit,
        higher_is_better=chosen.higher_is_better,
        reference=originals.reference.value,
        rows=int(summary.rows),
        ranking=tuple(ranking),
        skipped=dict(summary.skipped),
        notes=_notes(summary, originals, chosen),
    )


def _take(columns: list[Floats], picked: NDArray[np.int64]) -> Floats:
    return np.stack([column[picked[:, a]] for a, column in enumerate(columns)], axis=1)


def _originals(originals: ReferenceValues, picked: NDArray[np.int64]) -> Floats:
    assert originals.values is not None
    return _take(list(originals.values), picked)


def _retained(measure: Measure, summary: Summary, original: Floats | None, masked: Floats) -> Floats | None:
    if original is None:
        return None
    label = np.asarray(summary.label_histogram.counts, dtype=np.float64)
    return retained_share(measure, original, masked, label=label)


def _like_best(
    scores: list[AttributeScores], picked: NDArray[np.int64], badness: Floats, best: int
) -> NDArray[np.bool_]:
    """Whether a configuration's distance to the best is within its sampling error."""
    spread = np.zeros(len(picked))
    for a, one in enumerate(scores):
        apart = one.resampled - one.resampled[picked[best, a]]
        spread += apart.std(axis=1, ddof=1)[picked[:, a]]
    return badness - badness[best] <= _SURE * spread / len(scores) + 1e-12


def _places(badness: Floats) -> NDArray[np.int64]:
    """1 for the best; equal numbers share a place, and the next place counts them."""
    scale = max(float(np.abs(badness).max(initial=0.0)), 1e-300)
    rounded = np.round(badness / scale, 12)
    return 1 + np.searchsorted(np.sort(rounded), rounded, side="left")


class _AttributeCards:
    """Each (attribute, mask) is described once, however many configurations share it."""

    def __init__(
        self,
        scores: list[AttributeScores],
        attributes: list[AttributeSummary],
        originals: ReferenceValues,
        measure: Measure,
    ) -> None:
        self._scores, self._originals, self._measure = scores, originals, measure
        self._masked = [list(attribute.masked.values()) for attribute in attributes]
        self._errors = [one.standard_errors for one in scores]
        self._cards: dict[tuple[int, int], AttributeLoss] = {}

    def card(self, a: int, i: int) -> AttributeLoss:
        if (a, i) not in self._cards:
            masked = float(self._scores[a].values[i])
            original = None if self._originals.values is None else float(self._originals.values[a][i])
            lost = None
            if original is not None:
                absolute = self._originals.per_configuration
                lost = float(losses(self._measure, np.array(original), np.array(masked), absolute=absolute))
            mask = self._masked[a][i].mask
            self._cards[a, i] = AttributeLoss(
                name=self._scores[a].name,
                mask=mask.describe() if mask is not None else self._masked[a][i].id,
                original=original,
                masked=masked,
                deviation=lost,
                standard_error=float(self._errors[a][i]),
            )
        return self._cards[a, i]


def _notes(summary: Summary, originals: ReferenceValues, measure: Measure) -> tuple[str, ...]:
    said = list(originals.notes)
    discretised = [
        name
        for name, attribute in summary.attributes.items()
        if attribute.domain is not None and attribute.domain.discretised
    ]
    if discretised:
        said.append(f"counted in ranges because of too many distinct values: {', '.join(discretised)}")
    if measure.monotone is False:
        said.append(f"{measure.name} can gain from merging values: a negative deviation is a gain")
    return tuple(said)
