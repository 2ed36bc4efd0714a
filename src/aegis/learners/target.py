"""What the learners are to predict: one of some classes, or a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Places = NDArray[np.int64]
Floats = NDArray[np.float64]

_FAR = 1e6  # a sum of squares loses twice as many digits, of the fifteen that there are


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Target:
    """The label of some rows: ``labels`` among so many ``classes``, or ``numbers`` where ``classes`` is 0.

    Both vectors are as long as there are rows. With two classes ``numbers`` is 1 for the second; with more of them it
    is not used.
    """

    classes: int
    labels: Places
    numbers: Floats

    def __post_init__(self) -> None:
        if self.classes == 1 or self.classes < 0 or len(self.labels) != len(self.numbers):
            raise ValueError("a target has two classes or more, or numbers (0 classes), and both vectors of one length")

    @classmethod
    def of_classes(cls, labels: NDArray[np.integer], classes: int) -> Target:
        codes = np.ascontiguousarray(labels, dtype=np.int64)
        return cls(classes=classes, labels=codes, numbers=(codes == 1).astype(np.float64))

    @classmethod
    def of_numbers(cls, numbers: NDArray[np.floating]) -> Target:
        values = np.ascontiguousarray(numbers, dtype=np.float64)
        return cls(classes=0, labels=np.zeros(len(values), dtype=np.int64), numbers=values)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        what = f"{self.classes} classes" if self.classes else "numbers"
        return f"Target({len(self)} rows, {what})"

    def at(self, rows: Places) -> Target:
        """The label of some of the rows."""
        return Target(classes=self.classes, labels=self.labels[rows], numbers=self.numbers[rows])

    @property
    def centre(self) -> float:
        """A number to count the numbers from: their mean, if they lie so far from nought that sums would lose what
        tells them apart."""
        if self.classes or not len(self):
            return 0.0
        mean = self.mean()
        return mean if abs(mean) > _FAR * float(np.ptp(self.numbers)) else 0.0

    def mean(self) -> float:
        """The mean of the numbers, exact also where their sum loses digits."""
        nearly = self.numbers.mean()
        return float(nearly + (self.numbers - nearly).mean())

    def shares(self) -> Floats:
        """The share of each class among the rows."""
        counts = np.bincount(self.labels, minlength=self.classes)
        return counts / max(len(self), 1)
