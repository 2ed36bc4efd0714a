"""Ways of choosing a candidate without trying them all, side by side.

Each gives one score per configuration, higher is better, and the CPU seconds it took beyond what they all share (the
pass over the rows). None of them sees a row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Floats
from aegis.counts.joint import Joint, TableCounts
from aegis.counts.pair_counts import PairTables
from aegis.counts.summary import AttributeSummary, Level, MaskedJoint, Summary, mask_counts, reduced
from aegis.errors import MeasureError
from aegis.evaluation.coded_rows import CodedRows
from aegis.masking.configuration import Configuration
from aegis.masking.transition import Partition
from aegis.measures.measure import AttributeMeasure, PairMeasure, measures_of
from aegis.measures.pair_ground import score_configurations
from aegis.ranking.attribute_values import Reference, Rounding
from aegis.ranking.paper import PAPER_MEASURES
from aegis.ranking.rank import rank

Selector = Callable[[Summary, PairTables | None, int], Floats]
"""A summary of level 2d, the pair tables where there are any, and a seed, to scores."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Selection:
    """What a selector thinks of the configurations, in their order."""

    selector: str
    scores: Floats
    cpu_seconds: float

    @property
    def chosen(self) -> int:
        """The place of the configuration it would release; the first of those that tie."""
        return int(np.argmax(self.scores))


def by_rank(measure: str, reference: Reference, level: Level) -> Selector:
    """The advisor's own ranking by a measure and a reference, of a summary that tells no more than ``level``."""
    return lambda summary, pairs, seed: _ranked(reduced(summary, level=level), measure, reference, seed)


def by_pairs(name: str) -> Selector:
    """A score of whole configurations from pair counts."""

    def scores(summary: Summary, pairs: PairTables | None, seed: int) -> Floats:
        if pairs is None:
            raise MeasureError(f"the selector {name!r} needs pair tables; count pairs first")
        return score_configurations(summary, pairs, name, seed=seed).utilities

    return scores


def by_relative_entropy(summary: Summary, pairs: PairTables | None, seed: int) -> Floats:
    """Mascara's estimate of utility, as the paper adapts it: how far the histogram read off the masked column is.

    A reader who sees only groups takes the values of a group as equally frequent; the relative entropy of the true
    histogram to that reading, averaged over attributes, is what a configuration is said to cost. No label is involved.
    """
    cost = {
        (name, key): _divergence_bits(attribute, masked)
        for name, attribute in summary.attributes.items()
        for key, masked in attribute.masked.items()
    }
    return np.array(
        [
            -np.mean([cost[name, (ident, configuration.label_mask)] for name, ident in configuration.masks.items()])
            for configuration in summary.configurations
        ]
    )


def _divergence_bits(attribute: AttributeSummary, masked: MaskedJoint) -> float:
    if attribute.joint is None or masked.change is None:
        raise MeasureError(f"relative entropy needs the histogram of {attribute.name!r} and what its masks do")
    counts = attribute.joint.counts.sum(axis=1)
    true = counts / counts.sum()
    change = masked.change
    if isinstance(change, Partition):
        mass, size = change.push(true), np.bincount(change.codes, minlength=change.target.size)
        read = (mass / size)[change.codes]
    else:
        # Each masked value is read back as any value that may have led to it.
        may = change.matrix > 1e-12
        read = may @ (change.push(true) / np.maximum(may.sum(axis=0), 1))
    occurring = true > 0
    return float((true[occurring] * np.log2(true[occurring] / read[occurring])).sum())


def _ranked(summary: Summary, measure: str, reference: Reference | str, seed: int) -> Floats:
    answer = rank(summary, measure=measure, reference=reference, rounding=Rounding.RANDOMISED, seed=seed)
    by_name = {entry.configuration: -entry.deviation for entry in answer.ranking if entry.deviation is not None}
    return np.array([by_name[configuration.name] for configuration in summary.configurations])


def selectors(*, pairs: bool = True) -> dict[str, Selector]:
    """All selectors that need no rows, by name."""
    every: dict[str, Selector] = {}
    for measure in measures_of(AttributeMeasure):
        every[f"{measure} (exact)"] = by_rank(measure, Reference.EXACT, Level.TWO_D)
        every[f"{measure} (pooled)"] = by_rank(measure, Reference.POOLED, Level.ONE_D)
        if measure not in PAPER_MEASURES:  # those of the paper go by the paper's names
            every[f"{measure} (per-configuration)"] = by_rank(measure, Reference.PER_CONFIGURATION, Level.ONE_D)
    for measure in PAPER_MEASURES:
        # As the paper has it: each configuration reconstructs for itself, and rounds at random.
        every[f"Aegis+1D {measure}"] = by_rank(measure, Reference.PER_CONFIGURATION, Level.ONE_D)
        every[f"Aegis-1D {measure}"] = by_rank(measure, Reference.PER_CONFIGURATION, Level.NONE)
        # The paper's baseline: values drawn among those a masked value stands for.
        every[f"Sampling {measure}"] = by_rank(measure, Reference.SAMPLING, Level.ONE_D)
    every["Mascara"] = by_relative_entropy
    if pairs:
        for name in measures_of(PairMeasure):
            every[name] = by_pairs(name)
    return every


def select(
    summary: Summary, *, pairs: PairTables | None = None, names: Sequence[str] | None = None, seed: int = 0
) -> list[Selection]:
    """Ask every selector, or those named."""
    ways = selectors(pairs=pairs is not None)
    unknown = [name for name in names or () if name not in ways]
    if unknown:
        raise MeasureError(f"there is no selector called {', '.join(unknown)}; use {', '.join(ways)}")
    answers = []
    for name in names or ways:
        started = time.process_time()
        scores = ways[name](summary, pairs, seed)
        answers.append(Selection(selector=name, scores=scores, cpu_seconds=time.process_time() - started))
    return answers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedTable:
    """A table that no mask made (clustered, sanitized, or published by somebody else), as it was counted.

    Its rows are in the order of the original ones. No function of a value says what happened to it, so nothing can be
    reconstructed; but it can be counted like any table, and measures of attributes and scores of pairs need no more.
    """

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


def _mean(measure: AttributeMeasure, joints: Mapping[str, Joint], names: list[str], label: Floats) -> float:
    """Over all attributes; one that is not published says what a constant says."""
    values = [float(measure(joints[name].counts if name in joints else label[None, :])) for name in names]
    return float(np.mean(values))
