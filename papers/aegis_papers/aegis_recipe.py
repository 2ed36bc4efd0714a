"""Algorithm 1 of the Aegis paper as it is written: the rows are masked again for every configuration.

The product counts the rows once and merges counts. How long the paper's way takes is measured with this one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aegis.arrays import Codes
from aegis.counts.summary import Summary
from aegis.masking.transition import Partition
from aegis.measures.measure import find_attribute_measure
from aegis.reconstruction.rebuilt_joints import per_configuration, randomised

STAGES = ("masking", "reconstruction", "estimation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """CPU seconds of the three stages, over all configurations."""

    masking: float
    reconstruction: float
    estimation: float

    @property
    def total(self) -> float:
        return self.masking + self.reconstruction + self.estimation

    def to_json(self) -> dict[str, float]:
        return {stage: float(getattr(self, stage)) for stage in STAGES}


def algorithm_1(
    summary: Summary, codes: Mapping[str, Codes], label: Codes, *, measure: str, rng: np.random.Generator
) -> Stages:
    """Mask, count, reconstruct and estimate, configuration by configuration and attribute by attribute."""
    rho = find_attribute_measure(measure)
    labels = int(label.max()) + 1
    masking = reconstruction = estimation = 0.0
    for configuration in summary.configurations:
        for name, attribute in summary.attributes.items():
            masked = attribute.masked[configuration.masks[name], configuration.label_mask]
            if not isinstance(masked.change, Partition) or attribute.histogram is None:
                continue  # a mask that draws has no rows to be masked again
            started = time.process_time()
            rows = masked.change.codes[codes[name]]
            groups = masked.joint.counts.shape[0]
            joint = np.bincount(rows * labels + label, minlength=groups * labels).reshape(groups, labels)
            counted = time.process_time()
            fitted = per_configuration(masked.change, joint, histogram=attribute.histogram.counts).counts
            whole = randomised(fitted, rng=rng).astype(np.float64)
            rebuilt = time.process_time()
            abs(rho(whole) - rho(joint.astype(np.float64)))
            masking += counted - started
            reconstruction += rebuilt - counted
            estimation += time.process_time() - rebuilt
    return Stages(masking=masking, reconstruction=reconstruction, estimation=estimation)
