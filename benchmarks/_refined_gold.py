"""Golds made precise where it matters: more splits for the configurations near the top, and for those that were chosen.

``regret = max(gold) - gold(chosen)`` takes the largest of noisy numbers, so it is too high on average. More splits make
it less so. What is left can be told by halves: one half of the splits names the best, the other half says by how much
it is better than the chosen one. That figure is not too high, but too low where the half names a wrong one: the truth
lies between the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aegis.evaluation.gold import GoldScore, GoldStandard

MOST_TIMES = 8
"""The leaders get up to so many times the splits that all configurations have."""
MOST_LEADERS = 6
"""At most so many of a goal get more splits, the nearest to the top."""
PRECISE = 0.0005
"""A difference whose standard error is below .05 points needs no more splits."""
SURE = 2.0
"""So many standard errors behind the best, a configuration is not it."""
FEW_SPLITS = 6
HALVINGS = 50

Matrix = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinedGold:
    """By name of the configuration what each split found, for one goal; the leaders have more splits than the others.

    ``means`` are comparable all the same: what a split does to the leaders alike is taken out of it.
    """

    by_split: dict[str, Matrix]

    @property
    def splits(self) -> int:
        return max(len(found) for found in self.by_split.values())

    @property
    def leaders(self) -> list[str]:
        """Those with all splits."""
        return [name for name, found in self.by_split.items() if len(found) == self.splits]

    @property
    def means(self) -> dict[str, float]:
        common = np.mean([self.by_split[name] for name in self.leaders], axis=0)
        return {
            name: float((found - common[: len(found)]).mean() + common.mean()) for name, found in self.by_split.items()
        }

    def regret(self, chosen: str) -> float:
        """By how much the best by these golds is better than the chosen one: never below zero, too high on average."""
        means = self.means
        return max(means.values()) - means[chosen]

    def halved_regret(self, chosen: str) -> float:
        """The same with the best named by one half of the splits and measured by the other, the mean of many halvings.

        It has no selection in it, so it may be below zero; it is too low where a half names a wrong one.
        """
        rng = np.random.default_rng(0)
        leaders = list(dict.fromkeys([*self.leaders, chosen]))
        splits = min(len(self.by_split[name]) for name in leaders)
        found = np.stack([self.by_split[name][:splits] for name in leaders])
        own = leaders.index(chosen)
        lost = []
        for _ in range(HALVINGS):
            order = rng.permutation(splits)
            halves = order[: splits // 2], order[splits // 2 :]
            for naming, measuring in (halves, halves[::-1]):
                best = found[:, naming].mean(axis=1).argmax()
                lost.append(float((found[best] - found[own])[measuring].mean()))
        return float(np.mean(lost))


def refine(
    base: GoldStandard,
    trained: Callable[[Collection[str], int], Sequence[GoldScore]],
    *,
    goals: Sequence[str],
    chosen: dict[str, str],
) -> dict[str, RefinedGold]:
    """The golds of ``goals`` (as `GoldScore` names them) with more splits for the leaders.

    ``trained`` gives the scores of the named configurations on so many splits; ``chosen`` is what a selector chose, by
    goal. Twice as many splits go to whoever may still be the best by a paired test, until that is one, or the
    differences are precise, or there are ``MOST_TIMES`` as many as all have; the chosen one has as many as they.
    """
    return {
        goal: _refined({s.configuration: _by_split(s, goal) for s in base.scores}, trained, goal, chosen[goal])
        for goal in goals
    }


def _refined(
    known: dict[str, Matrix],
    trained: Callable[[Collection[str], int], Sequence[GoldScore]],
    goal: str,
    chosen: str,
) -> RefinedGold:
    gold = RefinedGold(by_split=known)
    first, spread = gold.splits, pooled_spread(np.stack(list(known.values())))
    while gold.splits < MOST_TIMES * first:
        contenders = contenders_of(gold, chosen, spread=spread if gold.splits < FEW_SPLITS else None)
        if len(contenders) < 2:
            break
        more = {score.configuration: _by_split(score, goal) for score in trained(contenders, 2 * gold.splits)}
        gold = replace(gold, by_split={**gold.by_split, **more})
    return gold


def pooled_spread(by_split: Matrix) -> float:
    """The standard deviation from split to split of what two configurations differ by, pooled over all."""
    configurations, splits = by_split.shape
    rest = by_split - by_split.mean(axis=1, keepdims=True) - by_split.mean(axis=0) + by_split.mean()
    return math.sqrt(2.0 * float((rest**2).sum()) / ((configurations - 1) * (splits - 1)))


def contenders_of(gold: RefinedGold, chosen: str, *, spread: float | None) -> list[str]:
    """The best by now, those that may be better by a paired test, and the chosen one; none where all is precise.

    ``spread`` is the standard deviation of a difference, where splits are too few to tell it of every two.
    """
    found, means = gold.by_split, gold.means
    names = sorted(gold.leaders, key=lambda name: -means[name])
    best = names[0]
    near = []
    for name in names[1:]:
        behind = found[best] - found[name]
        error = (float(behind.std(ddof=1)) if spread is None else spread) / math.sqrt(len(behind))
        if error > PRECISE and (name == chosen or float(behind.mean()) <= SURE * error):
            near.append(name)
    if not near:
        return []
    return list(dict.fromkeys([best, *near[: MOST_LEADERS - 1], chosen]))


def _by_split(score: GoldScore, goal: str) -> Matrix:
    return np.array(getattr(score, f"{goal}_by_split"))
