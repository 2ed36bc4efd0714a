"""Verdicts and numbers to a ranking: the configuration that keeps most comes first.

For measures that are monotone under merging, the smallest predictive utility deviation and the largest mean of the
masked values are the same configuration (docs/theory/ranking-without-reconstruction.md). The ranking uses what is
known exactly, the masked joints; the reference only decides how large the loss is said to be. The paper's
per-configuration reference ranks by its own deviations, as published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aegis.counts.pair_counts import MOST_PAIRED
from aegis.counts.summary import AttributeSummary, ConfigurationScores, Summary
from aegis.data.domain import distinct
from aegis.errors import MeasureError
from aegis.measures.chi_square import chi_square_test
from aegis.measures.deviation import (
    Averaging,
    attribute_weights,
    deviation,
    is_borrowed,
    losses,
    retained_share,
)
from aegis.measures.measure import MEASURES, AttributeMeasure, find_attribute_measure
from aegis.plural import count
from aegis.ranking.attribute_values import (
    AttributeScores,
    Reference,
    ReferenceValues,
    Rounding,
    masked_attributes,
    parse_reference,
    reference_values,
    score_attribute,
)
from aegis.ranking.paper import PAPER_MEASURE, PaperCase, as_known, find_case
from aegis.ranking.ranking import GAINS, AttributeLoss, RankedConfiguration, Ranking, reasons

TOGETHER = "pair-prediction"
BY_ATTRIBUTE = "leave-one-out-information"
"""The measure of single attributes that ranks where pairs were not counted, and explains where they were."""

_SURE = 1.96  # standard errors on each side of a 95 % interval
_GIVEN_AWAY = 0.98  # of the errors of guessing are avoided by one column alone
_ROWS_PER_VALUE = 5  # a column of nearly as many values as rows seems to tell anything
_ONE_LABEL = 0.9  # a share of the commonest label from which models answer nothing else

Floats = NDArray[np.float64]


def rank(
    summary: Summary,
    *,
    scores: Mapping[str, ConfigurationScores] | None = None,
    rejected: Mapping[str, str] | None = None,
    compared_with: str | None = None,
    measure: str | None = None,
    reference: Reference | str = Reference.AUTO,
    rounding: Rounding | str = Rounding.RANDOMISED,
    paper: str | None = None,
    seed: int = 0,
) -> Ranking:
    """Rank the configurations that were counted, by ``measure`` or the best there is.

    ``scores`` are those of whole configurations, by the name of the score; ``rejected`` says why some candidates did
    not pass the policy. Where they are left out, those count that the summary carries. Reasons say what sets a
    configuration apart from the best one, or from the one called ``compared_with``. ``paper`` names a case of the
    Aegis paper, which fixes reference and rounding (see `aegis.ranking.paper`).
    """
    case = None if paper is None else find_case(paper)
    if case is not None:
        summary, reference, rounding = as_known(summary, case), case.reference, case.rounding
        measure = measure or PAPER_MEASURE
    scores = summary.scores if scores is None else scores
    rejected = summary.rejected if rejected is None else rejected
    name = measure or (TOGETHER if TOGETHER in scores else BY_ATTRIBUTE)
    together = _scores_of_configurations(scores, name)
    chosen = find_attribute_measure(BY_ATTRIBUTE if together is not None else name)
    rng = np.random.default_rng(seed)
    by_attribute = [score_attribute(attribute, summary, chosen, rng) for attribute in summary.attributes.values()]
    originals = reference_values(
        summary,
        chosen,
        parse_reference(reference),
        rng,
        rounding=Rounding(rounding),
        start="uniform" if case is None else case.start,
    )
    picked = np.array(
        [
            [
                attribute.index[configuration.masks[attribute.name], configuration.label_mask]
                for attribute in by_attribute
            ]
            for configuration in summary.configurations
        ]
    )
    masked = _take([attribute.values for attribute in by_attribute], picked)
    standing = (
        _standing_by_attributes(summary, chosen, by_attribute, originals, picked, masked, case)
        if together is None
        else _standing_together(together)
    )
    best = int(np.argmin(standing.badness))
    names = [c.name for c in summary.configurations]
    first = best if compared_with is None else names.index(compared_with)
    behind = losses(chosen, masked[first], masked)
    places = _places(standing.badness)
    like_best = standing.badness - standing.badness[best] <= _SURE * standing.apart(best) + 1e-12
    cards = _AttributeCards(
        by_attribute, list(summary.attributes.values()), originals, chosen, absolute=case is not None
    )
    ranking = []
    for i in sorted(range(len(names)), key=lambda i: (places[i], names[i])):
        attributes = tuple(cards.card(a, int(picked[i, a])) for a in range(len(by_attribute)))
        share = None if standing.retained is None else float(standing.retained[i])
        off = None if standing.deviation is None else float(standing.deviation[i])
        centre = float(standing.utility[i]) if off is None else off
        half_width = _SURE * float(standing.errors[i])
        ranking.append(
            RankedConfiguration(
                rank=int(places[i]),
                configuration=names[i],
                id=summary.configurations[i].id,
                utility=float(standing.utility[i]),
                deviation=off,
                retained=share,
                borrowed=share is not None and bool(is_borrowed(np.asarray(share))),
                interval=(centre - half_width, centre + half_width),
                half_width=half_width,
                like_best=bool(like_best[i]),
                attributes=attributes,
                reasons=reasons(
                    attributes,
                    behind[i].tolist() if compared_with is None else _lost(attributes, behind[i].tolist()),
                    retained=share,
                    label=summary.label,
                    label_mask=_label_mask(summary, summary.configurations[i].label_mask),
                ),
            )
        )
    return Ranking(
        label=summary.label,
        measure=name,
        unit=chosen.unit if together is None else together.unit,
        higher_is_better=chosen.higher_is_better,
        reference=originals.reference.value,
        rows=int(summary.rows),
        ranking=tuple(ranking),
        skipped=dict(summary.skipped),
        rejected=dict(rejected),
        notes=(
            *(() if case is None else (case.note,)),
            *_notes(summary, originals, chosen, together),
            *_note_on_masked_labels(summary),
            *_note_on_a_common_label(summary, name),
            *_note_on_giveaways(summary),
        ),
    )


def _lost(attributes: Sequence[AttributeLoss], behind: Sequence[float]) -> list[float]:
    """How far each attribute is behind because it lost something: what another one gains by merging values is no loss
    to models, and an attribute that is left as it is lost nothing."""
    return [
        apart if attribute.deviation is None else min(apart, max(attribute.deviation, 0.0))
        for attribute, apart in zip(attributes, behind, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Standing:
    """Where the configurations stand: ``apart(i)`` is the standard error of each one's distance to configuration i."""

    utility: Floats
    deviation: Floats | None
    badness: Floats
    retained: Floats | None
    errors: Floats
    apart: Callable[[int], Floats]


def _standing_by_attributes(
    summary: Summary,
    measure: AttributeMeasure,
    scores: list[AttributeScores],
    originals: ReferenceValues,
    picked: NDArray[np.int64],
    masked: Floats,
    case: PaperCase | None,
) -> _Standing:
    """Means over the attributes, or what the paper's case takes. Errors add up as if all went the same way."""
    original = None if originals.values is None else _take(list(originals.values), picked)
    absolute = case is not None or originals.reference.per_configuration
    lost = None if original is None else losses(measure, original, masked, absolute=absolute)
    utility = masked.mean(axis=1)
    averaging = Averaging.MEAN if case is None else case.averaging
    touched = masked_attributes(summary)
    added_up = None if lost is None else deviation(lost, averaging=averaging, masked=touched)
    weights = attribute_weights(averaging, touched)
    label = np.asarray(summary.label_histogram.counts, dtype=np.float64)

    def apart(i: int) -> Floats:
        spread = np.zeros(len(picked))
        for a, score in enumerate(scores):
            first = weights[i, a] * score.resampled[picked[i, a]]
            for weight in distinct(weights[:, a]):
                alike = weights[:, a] == weight
                spread[alike] += (weight * score.resampled - first).std(axis=1, ddof=1)[picked[alike, a]]
        return spread

    return _Standing(
        utility=utility,
        deviation=added_up,
        badness=added_up if added_up is not None else (-utility if measure.higher_is_better else utility),
        retained=None if original is None else retained_share(measure, original, masked, label=label),
        errors=(weights * _take([score.standard_errors for score in scores], picked)).sum(axis=1),
        apart=apart,
    )


def _standing_together(scores: ConfigurationScores) -> _Standing:
    """Scores of whole configurations, against that of the unmasked table."""
    lost = scores.original - scores.utilities
    nothing = scores.original <= 1e-12
    return _Standing(
        utility=scores.utilities,
        deviation=lost,
        badness=lost,
        retained=np.ones(len(lost)) if nothing else scores.utilities / scores.original,
        errors=(scores.original_resampled - scores.resampled).std(axis=1, ddof=1),
        apart=lambda i: (scores.resampled - scores.resampled[i]).std(axis=1, ddof=1),
    )


def _scores_of_configurations(scores: Mapping[str, ConfigurationScores], name: str) -> ConfigurationScores | None:
    if not MEASURES[name].of_whole_configurations:
        return None
    if name not in scores:
        raise MeasureError(
            f"{name} needs pairs of attributes, which this summary was made without; use another measure or "
            f"summarise again with --score {name}"
        )
    return scores[name]


def _take(columns: list[Floats], picked: NDArray[np.int64]) -> Floats:
    return np.stack([column[picked[:, a]] for a, column in enumerate(columns)], axis=1)


def _places(badness: Floats) -> NDArray[np.int64]:
    """1 for the best; equal numbers share a place, and the next place counts them."""
    scale = max(float(np.abs(badness).max(initial=0.0)), 1e-300)
    rounded = np.round(badness / scale, 12)
    return 1 + np.searchsorted(np.sort(rounded), rounded, side="left")


def _label_mask(summary: Summary, ident: str | None) -> str | None:
    """What is done to the label; its id where masks are opaque."""
    if ident is None:
        return None
    mask = summary.label_masks[ident][0]
    return ident if mask is None else mask.describe()


class _AttributeCards:
    """Each (attribute, mask) is described once, however many configurations share it."""

    def __init__(
        self,
        scores: list[AttributeScores],
        attributes: list[AttributeSummary],
        originals: ReferenceValues,
        measure: AttributeMeasure,
        *,
        absolute: bool,
    ) -> None:
        self._scores, self._originals, self._measure, self._absolute = scores, originals, measure, absolute
        self._masked = [list(attribute.masked.values()) for attribute in attributes]
        self._errors = [score.standard_errors for score in scores]
        self._cards: dict[tuple[int, int], AttributeLoss] = {}

    def card(self, a: int, i: int) -> AttributeLoss:
        if (a, i) not in self._cards:
            masked = float(self._scores[a].values[i])
            original = None if self._originals.values is None else float(self._originals.values[a][i])
            lost = None
            if original is not None:
                absolute = self._originals.reference.per_configuration or self._absolute
                lost = float(losses(self._measure, np.array(original), np.array(masked), absolute=absolute))
            mask = self._masked[a][i].mask
            test = chi_square_test(self._masked[a][i].joint.counts) if self._measure.name == "chi-square" else None
            self._cards[a, i] = AttributeLoss(
                name=self._scores[a].name,
                mask=mask.describe() if mask is not None else self._masked[a][i].id,
                original=original,
                masked=masked,
                deviation=lost,
                standard_error=float(self._errors[a][i]),
                degrees_of_freedom=None if test is None else test.degrees_of_freedom,
                p_value=None if test is None else test.p_value,
            )
        return self._cards[a, i]


def _notes(
    summary: Summary, originals: ReferenceValues, measure: AttributeMeasure, together: ConfigurationScores | None
) -> tuple[str, ...]:
    notes = list(originals.notes)
    # Merging small cells makes ranges too; the note on the protection names those.
    merged = () if summary.protection is None else summary.protection.merged
    discretised = [
        name
        for name, attribute in summary.attributes.items()
        if attribute.domain is not None and attribute.domain.discretised and name not in merged
    ]
    if discretised:
        notes.append(f"counted in ranges because of too many distinct values: {', '.join(discretised)}")
    if together is not None:
        paired = "all" if len(summary.attributes) <= MOST_PAIRED else f"the {MOST_PAIRED} most telling"
        notes.append(
            f"ranked by {paired} attributes together, their pairs counted on {together.sample_rows:,} of "
            f"{count(summary.rows, 'row')}; single attributes are shown in {measure.name} ({measure.unit})"
        )
    elif not measure.monotone:
        notes.append(f"{measure.name} {GAINS}: a negative deviation is a gain")
    if summary.parts:
        notes.append(
            f"the sum of the counts of {count(len(summary.parts), 'part')}; pairs of attributes were not counted "
            "across them, so attributes are ranked one by one"
        )
    if summary.protection is not None:
        notes.append(summary.protection.describe())
    return tuple(notes)


def _note_on_masked_labels(summary: Summary) -> tuple[str, ...]:
    """A mask on the label may be meant, or a slip: what is predicted is then another thing."""
    masking = [configuration.name for configuration in summary.configurations if configuration.label_mask is not None]
    if not masking:
        return ()
    named = ", ".join(masking[:5]) + (f" and {len(masking) - 5} more" if len(masking) > 5 else "")
    return (
        f"{len(masking)} of {count(len(summary.configurations), 'configuration')} "
        f"{'masks' if len(masking) == 1 else 'mask'} the label {summary.label!r} itself and "
        f"{'is' if len(masking) == 1 else 'are'} ranked by what is left of it: {named}",
    )


def giveaways(summary: Summary) -> tuple[str, ...]:
    """The attributes that tell the label by themselves: with few values, and hardly ever wrong.

    Such a column is most often the label under another name, or something that is known only afterwards.
    """
    label = np.asarray(summary.label_histogram.counts, dtype=np.float64)
    rows, guess = float(label.sum()), float(label.max(initial=0.0))
    if rows <= guess:
        return ()
    telling = []
    for name, attribute in summary.attributes.items():
        if attribute.joint is None or attribute.joint.attribute.size * _ROWS_PER_VALUE > rows:
            continue
        right = float(np.asarray(attribute.joint.counts).max(axis=1).sum())
        if (right - guess) / (rows - guess) >= _GIVEN_AWAY:
            telling.append(name)
    return tuple(telling)


def _note_on_giveaways(summary: Summary) -> tuple[str, ...]:
    return tuple(
        f"{name} tells {summary.label} by itself: often that is the label under another name, or something known only "
        f"afterwards; if it is not there when predictions are made, leave it out (--identifying {name})"
        for name in giveaways(summary)
    )


def _note_on_a_common_label(summary: Summary, name: str) -> tuple[str, ...]:
    """Where every model answers the commonest label, no configuration is more accurate than another."""
    counts = np.asarray(summary.label_histogram.counts, dtype=np.float64)
    share = float(counts.max(initial=0.0) / max(counts.sum(), 1.0))
    if name != TOGETHER or share < _ONE_LABEL:
        return ()
    return (
        f"{share:.0%} of the rows share a label: accuracy hardly tells configurations apart, so this ranks by what is "
        "known of the label; the measure balanced-prediction ranks by decisions, every label counting alike",
    )
