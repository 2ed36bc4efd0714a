"""What a selector thinks of a table that no mask made: clustered, sanitized, or published by somebody else.

No function of a value says what happened to it, so nothing can be reconstructed. What is published can be counted like
any table: measures of single attributes and scores of pairs need no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aegis.counts.joint import Joint, TableCounts
from aegis.counts.pair_counts import PairTables
from aegis.counts.summary import Summary, mask_counts
from aegis.evaluation.coded_rows import CodedRows
from aegis.masking.configuration import Configuration
from aegis.measures.measure import AttributeMeasure, PairMeasure, measures_of
from aegis.measures.pair_ground import score_configurations
from aegis.ranking.attribute_values import Reference


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedTable:
    """A released table as it was counted, with its rows in the order of the original ones."""

    name: str
    counted: TableCounts
    pairs: PairTables | None
    rows: CodedRows

    @property
    def configuration(self) -> Configuration:
        """Nothing is masked any more."""
        return Configuration.of(self.name, {})


def table_scores(original: Summary, table: PublishedTable, *, seed: int = 0) -> dict[str, float]:
    """The scores of the selectors that can judge it, each on the scale of the configurations of ``original``."""
    scores: dict[str, float] = {}
    originals = {name: attribute.joint for name, attribute in original.attributes.items()}
    label = np.asarray(original.label_histogram.counts, dtype=np.float64)
    for name, measure in measures_of(AttributeMeasure).items():
        change = _mean(measure, table.counted.joints, list(originals), label)
        change -= _mean(measure, {name: joint for name, joint in originals.items() if joint}, list(originals), label)
        scores[f"{name} ({Reference.EXACT.value})"] = change if measure.higher_is_better else -change
    if table.pairs is not None:
        summary = mask_counts(table.counted, [table.configuration], name=table.name)
        for name in measures_of(PairMeasure):
            scores[name] = float(score_configurations(summary, table.pairs, name, seed=seed).utilities[0])
    return scores


def _mean(measure: AttributeMeasure, joints: Mapping[str, Joint], names: list[str], label: np.ndarray) -> float:
    """Over all attributes; one that is not published says what a constant says."""
    values = [float(measure(joints[name].counts if name in joints else label[None, :])) for name in names]
    return float(np.mean(values))
