"""How many people of the population share the tuple of a class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aegis.counts.class_table import ClassTable
from aegis.counts.grouping import group_rows
from aegis.errors import MeasureError


def population_sizes(table: ClassTable) -> NDArray[np.int64]:
    """The size of each class in the population, never less than in the table itself.

    Suppressed records could be anybody whose tuple is not in the table; they are counted as their own population.
    """
    people = table.population
    if people is None:
        return table.sizes
    if people.columns != table.columns or [d.size for d in people.domains] != [d.size for d in table.domains]:
        raise MeasureError("the population must be counted by the same columns and coded alike; count it again")
    if table.star and table.classes == 1:  # everybody is suppressed, so they could be anybody
        return np.maximum(table.sizes, people.records)
    kept = table.codes[:-1] if table.star else table.codes
    _, group = group_rows(np.concatenate([people.codes, kept]), [domain.size for domain in table.domains])
    counts = np.zeros(int(group.max(initial=-1)) + 1, dtype=np.int64)
    counts[group[: people.classes]] = people.sizes
    found = table.sizes.copy()
    found[: len(kept)] = np.maximum(counts[group[people.classes :]], found[: len(kept)])
    return found
