"""Scores of whole configurations from pair counts: what single attributes cannot show.

==================  ======================================================================================
score               what it asks
==================  ======================================================================================
pair-prediction     errors that the best pair and its trees avoid, what all pairs know, half of what a line sees
balanced-prediction the same with every label counting alike, however rare
label-probe         how well a line through all masked attributes would predict the label (share of its variance)
pair-information    how many bits two masked attributes tell about the label, on average over pairs
==================  ======================================================================================

What a mask does to an attribute is worked out once per (attribute, mask), on the groups of values that the pairs were
counted on; a configuration then costs milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from aegis.counts.pair_counts import PairTables
from aegis.counts.summary import Summary
from aegis.errors import MeasureError
from aegis.ranking.label_probe import label_probe
from aegis.ranking.pair_ground import Floats, PairGround
from aegis.ranking.pair_prediction import balanced_prediction, pair_information, pair_prediction


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairScores:
    """One utility per configuration, higher is better, and the same for resampled records.

    ``resampled[i]`` belongs to configuration i. The probe resamples the same records for all configurations, so the
    spread of a difference is known better than that of either; the other scores resample each on its own, which is
    never too narrow.
    """

    name: str
    unit: str
    utilities: Floats
    resampled: Floats
    sample_rows: int

    @property
    def standard_errors(self) -> Floats:
        return self.resampled.std(axis=1, ddof=1)


def score_configurations(summary: Summary, pairs: PairTables, name: str, *, seed: int = 0) -> PairScores:
    """Score the configurations of ``summary``, in their order, by the pair score called ``name``."""
    if name not in PAIR_SCORES:
        raise MeasureError(f"there is no pair score called {name!r}; use {' or '.join(PAIR_SCORES)}")
    known = {*pairs.groups, *pairs.left_out}
    absent = [attribute for attribute in summary.attributes if attribute not in known]
    if absent:
        raise MeasureError(f"the pairs of {', '.join(absent)} were not counted; count pairs of the same table")
    score = PAIR_SCORES[name]
    utilities, resampled = score.function(PairGround(summary=summary, pairs=pairs), np.random.default_rng(seed))
    return PairScores(
        name=name, unit=score.unit, utilities=utilities, resampled=resampled, sample_rows=pairs.sample_rows
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScore:
    """A score of whole configurations: higher is better."""

    unit: str
    summary: str
    function: Callable[[PairGround, np.random.Generator], tuple[Floats, Floats]]


PAIR_SCORES: Mapping[str, PairScore] = {
    "pair-prediction": PairScore(
        unit="share of errors avoided, entropy told and variance explained",
        summary="Errors that the best pair and its trees avoid, what all pairs know, half of what a line sees.",
        function=pair_prediction,
    ),
    "balanced-prediction": PairScore(
        unit="share of errors avoided, entropy told and variance explained",
        summary="The same as pair-prediction with every label counting alike, for rare labels and for probabilities.",
        function=balanced_prediction,
    ),
    "label-probe": PairScore(
        unit="share of the label's variance",
        summary="How well a line through all masked attributes would predict the label.",
        function=label_probe,
    ),
    "pair-information": PairScore(
        unit="bits",
        summary="How many bits two masked attributes tell about the label, on average over pairs.",
        function=pair_information,
    ),
}
