"""Down the tree of a local recoding: which box each record falls into."""

from __future__ import annotations

import numpy as np

from aegis.candidates.boxes.compiled import Ints, compiled

NO_BOX = -1
"""Where a record falls that has a value no cut knows."""

THEN, OTHER, NOWHERE = 1, 0, -1


@compiled
def walked(
    codes: Ints,
    columns: Ints,
    thens: Ints,
    others: Ints,
    boxes: Ints,
    below: Ints,
    missing: Ints,
    missing_sides: Ints,
    first: Ints,
    listed: Ints,
    known: Ints,
    known_starts: Ints,
) -> Ints:
    """The box of each line of codes; `NO_BOX` for none.

    A node whose column is −1 is a box, ``boxes`` says which. In a cut of an ordered column the codes smaller than
    ``below`` go to ``thens``, the code ``missing`` of its column where ``missing_sides`` says. In one of categories
    ``below`` is −1, and the codes that go to ``thens`` are ``listed`` in order from ``first`` of the node up to
    that of the next one; a code that is not ``known`` to its column goes nowhere.
    """
    fallen = np.full(len(codes), NO_BOX, dtype=np.int64)
    for row in range(len(codes)):
        node = 0
        while columns[node] >= 0:
            column = columns[node]
            code = codes[row, column]
            if below[node] >= 0:
                side = missing_sides[node] if code == missing[column] else int(code < below[node])
            elif not known[known_starts[column] + code]:
                side = NOWHERE
            else:
                low, high = first[node], first[node + 1]
                while low < high:
                    middle = (low + high) // 2
                    if listed[middle] < code:
                        low = middle + 1
                    else:
                        high = middle
                side = THEN if low < first[node + 1] and listed[low] == code else OTHER
            if side == NOWHERE:
                node = -1
                break
            node = thens[node] if side == THEN else others[node]
        if node >= 0:
            fallen[row] = boxes[node]
    return fallen
