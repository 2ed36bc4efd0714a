"""A first partition from above, for tables too large to merge pairs: split the class that loses most, repeatedly."""

from __future__ import annotations

import heapq

import numpy as np

from aegis.candidates.clusters.arrays import Floats, Ints
from aegis.candidates.clusters.units import Units


def divide(units: Units, *, k: int, classes: int) -> Ints:
    """Labels of at most ``classes`` classes of at least k records each."""
    count = len(units.weight)
    labels = np.zeros(count, dtype=np.int64)
    heap: list[tuple[float, int, Ints]] = [(-np.inf, 0, np.arange(count, dtype=np.int64))]
    made = 1
    while heap and made < classes:
        _, label, members = heapq.heappop(heap)
        side = _halves(units, members, k)
        if side is None:
            continue
        for part, name in ((members[~side], label), (members[side], made)):
            labels[part] = name
            heapq.heappush(heap, (-float(_spreads(units, part).sum()), name, part))
        made += 1
    return labels


def _spreads(units: Units, members: Ints) -> Floats:
    """The deviation of each attribute inside a class, numbers first."""
    weight = units.weight[members]
    numbers = units.numbers[members]
    mean = weight @ numbers / weight.sum()
    spreads = list(weight @ (numbers - mean) ** 2)
    for codes in units.codes[members].T:
        spreads.append(weight.sum() - np.bincount(codes - codes.min(), weights=weight).max())
    return np.array(spreads, dtype=np.float64)


def _halves(units: Units, members: Ints, k: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Split at the mean or the mode of the attribute that deviates most; None if no split leaves k on both sides."""
    weight = units.weight[members]
    total = int(weight.sum())
    if total < 2 * k:
        return None
    spreads = _spreads(units, members)
    dimensions = units.numbers.shape[1]
    for attribute in np.argsort(-spreads):
        if spreads[attribute] <= 0:
            break
        if attribute < dimensions:
            column = units.numbers[members, attribute]
            order = np.argsort(column, kind="stable")
            candidates = [column > weight @ column / total, column > column[order[len(order) // 2]]]
        else:
            codes = units.codes[members, attribute - dimensions]
            low = codes.min()
            candidates = [codes != np.bincount(codes - low, weights=weight).argmax() + low]
        for side in candidates:
            if k <= weight[side].sum() <= total - k:
                return np.asarray(side)
    return None
