"""How much the published groups tell records apart: the risk that counts alone can speak of.

A column whose groups hold shares p of the records tells them apart by its entropy, Σ −p log₂ p bits. Several columns
together tell at most the sum of that, and exactly the sum where they are independent. Whoever has log₂ n bits about one
of n records singles it out. So a configuration that leaves fewer bits leaves larger groups of alike records on
average; the true groups are counted when a table is released, and stated in its certificate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from aegis.summaries.summary import Summary


def identity_bits(summary: Summary, columns: Iterable[str]) -> dict[str, float]:
    """By configuration: the most bits by which ``columns``, as it publishes them, tell records apart.

    Columns that the summary did not count are left out.
    """
    counted = [summary.attributes[column] for column in columns if column in summary.attributes]
    bits = {
        (attribute.name, key): _entropy(masked.joint.counts.sum(axis=1))
        for attribute in counted
        for key, masked in attribute.masked.items()
    }
    return {
        one.name: math.fsum(
            bits[attribute.name, (one.masks[attribute.name], one.label_mask)]
            for attribute in counted
            if attribute.name in one.masks
        )
        for one in summary.configurations
    }


def _entropy(counts: np.ndarray) -> float:
    known = np.asarray(counts, dtype=np.float64)
    known = known[known > 0]
    if not known.size:
        return 0.0
    shares = known / known.sum()
    return float(-(shares * np.log2(shares)).sum()) + 0.0
