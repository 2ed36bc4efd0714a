"""When training has nothing more to gain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Watch:
    """Tired when no trial of any point has gained a thousandth for ``patience`` epochs."""

    def __init__(self, targets: Floats, patience: int | None) -> None:
        self.targets, self.patience = targets, patience
        self.best = np.full(targets.shape, -np.inf)
        self.idle = 0

    def tired(self, distortion: Floats, losses: Floats) -> bool:
        """Look at one epoch. Distortion that was overspent counts against the loss it bought."""
        over = np.maximum(distortion / self.targets, 1.0)
        score = losses.min(axis=1) / over**4
        gained = score > self.best * np.where(self.best > 0, 1.001, 1.0)
        self.best = np.maximum(self.best, score)
        self.idle = 0 if gained.any() else self.idle + 1
        return self.patience is not None and self.idle >= self.patience
