"""What one stage of a race measured: the rows' values of every candidate, and what follows from them.

Candidates are compared row by row on the same test rows. Variances are widened, because the parts that are tested in
turn share their training rows (Nadeau and Bengio, 2003): with ``J`` parts by ``1 + J / (J − 1)``.

Rows do not show all: where several attributes together decide, a learner finds them on the training rows of one part
and misses them on those of another, and every row of a part has the same model. So where what a learner reaches
differs from part to part by far more than the rows explain, that is variance too (`training_luck`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from aegis.learners.candidate import Part
from aegis.learners.features import SplitProtocol
from aegis.learners.race_result import RaceStage
from aegis.learners.target import Floats

DRAWS = 4_000
"""From so many draws of what the means may be in truth the chances of being best are counted."""
MANY, OUT_OF_REACH = 100, 5.0
"""Of more candidates than these, nothing is drawn for whoever is so many standard deviations behind the one ahead."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowValues:
    """The values of one candidate: sums over repeats for each row of the stage, and how often each was tested.

    ``unpaired`` are the values of test rows of its own, where it is a table that is split inside itself; ``protocol``
    says what it was tested on. ``parts`` is what each learner reached on each part, and the
    variance that its rows give that.
    """

    sums: Floats
    times: Floats
    unpaired: tuple[Floats, ...] = ()
    protocol: SplitProtocol = SplitProtocol.MASKED
    parts: tuple[Floats, ...] = ()

    @classmethod
    def nothing_yet(cls, rows: int) -> RowValues:
        return cls(sums=np.zeros(rows), times=np.zeros(rows))

    def with_part(
        self,
        part: Part,
        values: Floats,
        *,
        by_learner: Floats | None = None,
        protocol: SplitProtocol = SplitProtocol.MASKED,
    ) -> RowValues:
        """The same after another part was tested."""
        parts = self.parts if by_learner is None else (*self.parts, by_learner)
        if protocol is SplitProtocol.OWN:
            return replace(self, unpaired=(*self.unpaired, values), protocol=protocol, parts=parts)
        sums, times = self.sums.copy(), self.times.copy()
        sums[part.testing] += values
        times[part.testing] += 1.0
        return replace(self, sums=sums, times=times, protocol=protocol, parts=parts)

    def values(self) -> Floats:
        """The value of each test row, averaged over the repeats."""
        if self.unpaired:
            return np.concatenate(self.unpaired)
        tested = self.times > 0
        return self.sums[tested] / self.times[tested]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """What one stage found, by name; ``widening`` is by how much variances are widened."""

    stage: RaceStage
    tested: dict[str, RowValues]
    values: dict[str, Floats]
    widening: float

    @classmethod
    def of(cls, stage: RaceStage, tested: dict[str, RowValues]) -> Measured:
        return cls(
            stage=stage,
            tested=tested,
            values={name: each.values() for name, each in tested.items()},
            widening=1.0 + stage.folds / (stage.folds - 1.0),
        )

    def is_paired(self, name: str) -> bool:
        return not self.tested[name].unpaired

    def mean(self, name: str) -> float:
        return float(self.values[name].mean())

    def error(self, name: str) -> float:
        """The standard error of a mean; a row that was tested several times is one row all the same."""
        values = self.values[name]
        rows = len(values) if self.is_paired(name) else len(values) / self.stage.repeats
        by_rows = self.widening * float(values.var()) / max(rows, 1)
        return math.sqrt(by_rows + training_luck(self.tested[name].parts))

    def difference_error(self, first: str, second: str) -> float:
        """The standard error of the difference of two means, row by row where both were tested on the same rows."""
        if self.is_paired(first) and self.is_paired(second):
            apart = self.values[first] - self.values[second]
            by_rows = self.widening * float(apart.var()) / max(len(apart), 1)
            return math.sqrt(by_rows + sum(training_luck(self.tested[name].parts) for name in (first, second)))
        return math.hypot(self.error(first), self.error(second))

    def reliability(self, names: list[str]) -> float:
        """Which share of what differs between the candidates would be found again on other rows."""
        means = np.array([self.mean(name) for name in names])
        together = [self.values[name] for name in names if self.is_paired(name)]
        if len(together) < 2 or np.ptp(means) <= 0:
            return 1.0
        common = np.mean(together, axis=0)
        noise = float(np.mean([(values - common).var() for values in together])) / len(common)
        return max(0.0, 1.0 - noise / float(means.var(ddof=1)))

    def chances_to_be_best(
        self, names: list[str], *, higher_is_better: bool, other_models: float, seed: int
    ) -> dict[str, float]:
        """The chance of each candidate that it is the best of ``names``, given what was measured and nothing before.

        The true means are taken to be normal around the measured ones, with the covariance that the rows show, and
        ``other_models`` is by how much models of another make may change the difference of two (a standard deviation).
        """
        sign = 1.0 if higher_is_better else -1.0
        in_reach = names
        if len(names) > MANY:
            ahead = max(names, key=lambda name: sign * self.mean(name))
            in_reach = [
                name
                for name in names
                if sign * (self.mean(ahead) - self.mean(name))
                <= OUT_OF_REACH * math.hypot(self.difference_error(ahead, name), other_models)
            ]
        chances = self._shares_of_first_places(in_reach, sign=sign, other_models=other_models, seed=seed)
        return {name: chances.get(name, 0.0) for name in names}

    def _shares_of_first_places(
        self, names: list[str], *, sign: float, other_models: float, seed: int
    ) -> dict[str, float]:
        rng = np.random.default_rng([seed, 1])
        means = sign * np.array([self.mean(name) for name in names])
        lucky = np.zeros((DRAWS, len(names)))
        covariance = np.diag(np.full(len(names), 0.5 * other_models**2))
        paired = [place for place, name in enumerate(names) if self.is_paired(name)]
        if paired:
            values = np.stack([self.values[names[place]] for place in paired])
            if len(paired) == len(names):
                values = values - values.mean(axis=0)  # what all have in common decides nothing
            values -= values.mean(axis=1, keepdims=True)
            rows = values.shape[1]
            covariance[np.ix_(paired, paired)] += (self.widening / rows**2) * (values @ values.T)
            for place in paired:
                parts = self.tested[names[place]].parts
                if luck := training_luck(parts):
                    # Known from a few parts only, hence Student's distribution.
                    lucky[:, place] = math.sqrt(luck) * rng.standard_t(len(parts), size=DRAWS)
        for place, name in enumerate(names):
            if place not in paired:
                covariance[place, place] += self.error(name) ** 2
        # Rounding may leave an eigenvalue of zero a little below it.
        least = 1e-12 * max(float(covariance.trace()), 1e-12)
        root = np.linalg.cholesky(covariance + np.diag(np.full(len(names), least)))
        draws = np.random.default_rng(seed).standard_normal((DRAWS, len(names)))
        best = (means + draws @ root.T + lucky).argmax(axis=1)
        counts = np.bincount(best, minlength=len(names)) / DRAWS
        return {name: float(chance) for name, chance in zip(names, counts, strict=True)}


def training_luck(parts: Sequence[Floats]) -> float:
    """The variance of a candidate's mean that is not of the rows but of what its learners made of each part.

    Each of ``parts`` has a column for every learner: what it reached there, and the variance that rows give that. It
    counts where parts differ by more than rows would let them in one case of a thousand.

    >>> steady = [np.array([[0.80, 0.5], [1e-4, 1e-4]]), np.array([[0.81, 0.5], [1e-4, 1e-4]])]
    >>> missed = [np.array([[0.90, 0.5], [1e-4, 1e-4]]), np.array([[0.70, 0.5], [1e-4, 1e-4]])]
    >>> training_luck(steady), round(training_luck(missed), 6)
    (0.0, 0.002488)
    """
    tested = len(parts)
    if tested < 2:
        return 0.0
    reached, by_rows = np.stack(parts, axis=1)  # parts, learners
    apart, explained = ((reached - reached.mean(axis=0)) ** 2).sum(axis=0), by_rows.mean(axis=0)
    lucky = apart > explained * _quantile(tested - 1)
    beyond = apart / (tested - 1.0) - explained
    return float(beyond[lucky].sum()) / (tested * reached.shape[1] ** 2)


_NORMAL_999 = 3.0902323061678132
"""What a normal deviate stays below in 999 of 1,000 cases."""


@lru_cache
def _quantile(degrees: int) -> float:
    """What a sum of so many squares of chance stays below in 999 of 1,000 cases (Wilson and Hilferty's formula)."""
    step = 2.0 / (9.0 * degrees)
    return degrees * (1.0 - step + _NORMAL_999 * math.sqrt(step)) ** 3


def likeliest(chances: dict[str, float], wanted: float) -> list[str]:
    """The fewest candidates that hold the best with the chance ``wanted``, the likeliest first.

    >>> likeliest({"a": 0.2, "b": 0.7, "c": 0.1}, 0.85)
    ['b', 'a']
    """
    falling = sorted(chances, key=lambda name: -chances[name])  # equal ones stay in the order they were given
    reached = 0.0
    held: list[str] = []
    for name in falling:
        if held and reached >= wanted - 1e-9:
            break
        held.append(name)
        reached += chances[name]
    return held
