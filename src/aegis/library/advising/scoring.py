"""Counts to scores: whole configurations scored from pair counts, while the rows are still at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aegis.counts.collect_pairs import count_pairs
from aegis.counts.joint import TableCounts
from aegis.counts.summary import ConfigurationScores, ConfigurationSummary, MaskedJoint, Summary, mask_id
from aegis.data.dataset import Dataset
from aegis.masking.masks.identity import Identity
from aegis.masking.transition import Partition
from aegis.measures.pair_ground import score_configurations
from aegis.progress import Progress


def pair_scores(
    summary: Summary,
    dataset: Dataset,
    counted: TableCounts,
    *,
    names: Sequence[str],
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, ConfigurationScores]:
    """The pair scores ``names`` of the configurations of ``summary`` and of the unmasked table.

    None where a table has fewer than two attributes, and so no pair.
    """
    if not names or len(counted.joints) < 2:
        return {}
    pairs = count_pairs(dataset, counted, seed=seed, progress=progress)
    compared = _with_unmasked(summary)
    scores = {}
    for name in names:
        scored = score_configurations(compared, pairs, name, seed=seed)
        scores[name] = ConfigurationScores(
            unit=scored.unit,
            sample_rows=scored.sample_rows,
            utilities=scored.utilities[:-1],
            resampled=scored.resampled[:-1],
            original=float(scored.utilities[-1]),
            original_resampled=scored.resampled[-1],
        )
    return scores


def _with_unmasked(summary: Summary) -> Summary:
    """The summary with one more configuration, last, that masks nothing."""
    ident = mask_id(Identity())
    attributes = {}
    for name, attribute in summary.attributes.items():
        assert attribute.joint is not None, "pairs are scored before anything is left out of a summary"
        raw = MaskedJoint(
            id=ident,
            mask=Identity(),
            change=Partition.identity(attribute.joint.attribute),
            label_mask=None,
            joint=attribute.joint,
        )
        attributes[name] = replace(attribute, masked={**attribute.masked, (ident, None): raw})
    unmasked = ConfigurationSummary(name="unmasked", id="", masks=dict.fromkeys(attributes, ident))
    return replace(summary, attributes=attributes, configurations=(*summary.configurations, unmasked))
