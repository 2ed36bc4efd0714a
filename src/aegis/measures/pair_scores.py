"""Scores of whole configurations from pair counts: what single attributes cannot show.

What a mask does to an attribute is worked out once per (attribute, mask), on the groups of values that the pairs were
counted on; a configuration then costs milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis.counts.pair_counts import PairTables
from aegis.counts.summary import Summary
from aegis.errors import MeasureError
from aegis.measures.measure import find_pair_measure
from aegis.measures.pair_ground import Floats, PairGround


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
    """Score the configurations of ``summary``, in their order, by the measure of pairs called ``name``."""
    measure = find_pair_measure(name)
    counted = {*pairs.groups, *pairs.left_out}
    absent = [attribute for attribute in summary.attributes if attribute not in counted]
    if absent:
        raise MeasureError(f"the pairs of {', '.join(absent)} were not counted; count pairs of the same table")
    utilities, resampled = measure.function(PairGround(summary=summary, pairs=pairs), np.random.default_rng(seed))
    return PairScores(
        name=name, unit=measure.unit, utilities=utilities, resampled=resampled, sample_rows=pairs.sample_rows
    )
