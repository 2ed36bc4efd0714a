"""Configurations where no policy judges them: all pass, and how small their classes are is worth knowing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from aegis.data.dataset import Dataset
from aegis.masking.configuration import Configuration
from aegis.ranking.verdicts import Verdicts, class_sizes


def all_pass(dataset: Dataset) -> Callable[[Sequence[Configuration]], Verdicts]:
    """A function that lets configurations pass, however often it is asked: the rows are counted once.

    Where columns are known to be quasi-identifying the smallest class of each configuration is counted.
    """
    quasi = dataset.roles.quasi_identifying
    if not quasi:
        return lambda candidates: Verdicts(passed=tuple(candidates))
    from aegis.counts.collect_classes import count_classes  # loads Ibis

    counted = count_classes(dataset, quasi)
    return lambda candidates: Verdicts(passed=tuple(candidates), by_name=class_sizes(candidates, counted))
