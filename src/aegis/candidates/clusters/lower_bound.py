"""How much any partition must lose: the better of two proved bounds, and the gap to it in words."""

from __future__ import annotations

import numpy as np

from aegis.candidates.clusters.arrays import Floats, Ints
from aegis.candidates.clusters.centres import MOST_CENTRES, OneNumber
from aegis.candidates.clusters.dual_bound import dual_bound
from aegis.candidates.clusters.information_loss import Scale, divisors, total_deviation
from aegis.candidates.clusters.nearest_bound import nearest_bound
from aegis.candidates.clusters.records import Records, Tuples, collapse, group_rows

MOST_TUPLES = 4000  # beyond, the linear programs of the dual bound take too long


def lower_bound(
    records: Records,
    labels: Ints,
    *,
    k: int,
    classes: int | None,
    scale: Scale = "raw",
    class_price: float = 0.0,
    seconds: float = 5.0,
    known: float | None = None,
) -> float:
    """A loss that no partition into classes of at least k records (at most ``classes`` of them) can go below.

    Valid for any number of quasi-identifiers. ``labels``, a good partition, and ``class_price``, what one more class
    would save, only make the bound quicker to find; ``known`` is a bound proved before. The dual bound sees the
    numeric quasi-identifier that varies most and every category; the loss of further numbers, which is never
    negative, is left out of it and counted by the nearest-neighbour bound only.
    """
    total = total_deviation(records, scale=scale)
    if total == 0:
        return 0.0
    tuples = collapse(records)
    divisor = divisors(records, scale=scale)
    best = nearest_bound(tuples, divisor, k=k, most_classes=classes) if known is None else known * total
    number, reduced = _widest(tuples, divisor)
    combinations = int(np.prod([int(column.max()) + 1 for column in reduced.categorical.T]))
    if seconds > 0 and len(reduced) <= MOST_TUPLES and combinations * 8 <= MOST_CENTRES:
        order = np.argsort(number, kind="stable")
        rank = np.argsort(order, kind="stable")
        partition = np.zeros((int(labels.max()) + 1, len(reduced)))
        np.add.at(partition, (labels, rank[reduced.tuple_of]), 1.0)
        best = max(
            best,
            dual_bound(
                OneNumber.of(number, reduced.categorical, reduced.weight),
                k=k,
                most_classes=classes or len(records) // k,
                free=classes is None,
                partition=partition,
                class_price=class_price,
                seconds=seconds,
            ),
        )
    return best / total * (1 - 1e-9)  # rounding must not lift a bound above the truth


def gap_in_words(loss: float, bound: float) -> str:
    """How far a loss is from its bound.

    >>> gap_in_words(0.00106, 0.001)
    'within 6.0 % of the best possible'
    """
    if loss <= 0:
        return "nothing is lost"
    if bound <= 0:
        return "no bound above zero is known"
    return f"within {max(loss / bound - 1, 0) * 100:.1f} % of the best possible"


def _widest(tuples: Tuples, divisor: Floats) -> tuple[Floats, Tuples]:
    """The number that varies most (zeros if there is none), and the tuples merged on it and the categories."""
    if tuples.numeric.shape[1] == 0:
        return np.zeros(len(tuples)), tuples
    scaled = tuples.numeric / divisor
    mean = np.average(scaled, axis=0, weights=tuples.weight)
    chosen = scaled[:, int(np.argmax(tuples.weight @ (scaled - mean) ** 2))]
    if tuples.numeric.shape[1] == 1:
        return chosen, tuples
    group = group_rows([chosen, *tuples.categorical.T], rows=len(tuples))
    first = np.unique(group, return_index=True)[1]
    merged = Tuples(
        numeric=chosen[first][:, None],
        categorical=tuples.categorical[first],
        weight=np.bincount(group, weights=tuples.weight).astype(np.int64),
        tuple_of=group[tuples.tuple_of],
    )
    return chosen[first], merged
