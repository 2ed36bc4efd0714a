"""Equal rows of codes become one group: the step that every merge of counts shares; and tuples held as one number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes

ROOM = 1 << 16
"""Keys below this are always looked up in a table rather than sorted."""


def row_keys(codes: NDArray[Any], sizes: Sequence[int]) -> tuple[Codes, int]:
    """One number per row, equal for equal rows and in their order, and a number that all keys stay below."""
    key = np.zeros(len(codes), dtype=np.int64)
    room = 1
    for position, size in enumerate(sizes):
        if room > 2**62 // max(size, 1):  # the key would overflow: compress what there is so far
            _, key = np.unique(key, return_inverse=True)
            room = int(key.max(initial=0)) + 1
        key *= size
        key += codes[:, position]
        room *= max(size, 1)
    return key, room


def group_keys(keys: Codes, room: int) -> tuple[Codes, Codes]:
    """The distinct keys in order, and the position of every key among them. All keys lie in ``range(room)``."""
    if not needs_sorting(len(keys), room):
        # A table of all possible keys costs less than a sort while it stays in the size of the data.
        present = np.zeros(room, dtype=bool)
        present[keys] = True
        distinct = np.flatnonzero(present)
        place = np.empty(room, dtype=np.int32)
        place[distinct] = np.arange(len(distinct), dtype=np.int32)
        return distinct, place[keys].astype(np.int64)
    ascending = bool((keys[1:] >= keys[:-1]).all())
    # The stable sort is the one that is quick on keys that are nearly in order.
    order = None if ascending else np.argsort(keys, kind="stable")
    inorder = keys if order is None else keys[order]
    new = np.empty(len(keys), dtype=bool)
    new[:1] = True
    np.not_equal(inorder[1:], inorder[:-1], out=new[1:])
    place_in_order = np.cumsum(new) - 1
    if order is None:
        return inorder[new], place_in_order
    group = np.empty(len(keys), dtype=np.int64)
    group[order] = place_in_order
    return inorder[new], group


def needs_sorting(rows: int, room: int) -> bool:
    """Whether so many rows with keys below ``room`` are grouped by a sort rather than by a table."""
    return room > max(ROOM, 16 * rows)


def width(size: int) -> int:
    """How many bits hold the numbers below ``size``."""
    return max(size - 1, 0).bit_length()


def packed(fields: Sequence[tuple[Codes, int]]) -> Codes | None:
    """Several codes and their widths as one number per row, the first field highest; None if it has too few bits.

    Such a number can be sorted itself, which costs less than finding the order of its rows and going to fetch them.

    >>> packed([(np.array([1, 0]), 1), (np.array([2, 3]), 2)]).tolist()
    [6, 3]
    """
    if sum(bits for _, bits in fields) > 63:
        return None
    first, *others = fields
    return appended(first[0].copy(), others)


def appended(keys: Codes, fields: Sequence[tuple[Codes, int]]) -> Codes:
    """Further fields below those that ``keys`` hold already, written in place."""
    for values, bits in fields:
        keys <<= bits
        keys |= values
    return keys


def unpacked(keys: Codes, widths: Sequence[int]) -> Codes:
    """The tuples that were packed, stored by columns."""
    tuples = np.empty((len(keys), len(widths)), dtype=np.int64, order="F")
    shift = sum(widths)
    for position, bits in enumerate(widths):
        shift -= bits
        np.right_shift(keys, shift, out=tuples[:, position])
        tuples[:, position] &= (1 << bits) - 1
    return tuples


def in_order(numbers: Codes) -> Codes:
    """The numbers, which are not negative, in ascending order.

    By the two highest blocks of 16 bits, one after the other, which numpy sorts by counting; what is then still out of
    order lies close together, where its stable sort is quick. How fast numpy's own sort of long numbers is depends on
    the processor: with AVX-512 on Zen 4 it takes five times as long as without.

    >>> in_order(np.array([3, 1 << 40, 2])).tolist()
    [2, 3, 1099511627776]
    """
    if len(numbers) < ROOM:
        return np.sort(numbers)
    highest = int(numbers.max()).bit_length()
    for shift in (highest - 32, highest - 16):
        block = (numbers >> max(shift, 0)).astype(np.uint16)
        numbers = numbers.take(np.argsort(block, kind="stable"))
    numbers.sort(kind="stable")
    return numbers


def bounds_of_each(inorder: Codes) -> Codes:
    """Where each distinct number begins, in numbers in order, and after them all where the last ends.

    >>> bounds_of_each(np.array([3, 3, 5])).tolist()
    [0, 2, 3]
    """
    new = np.ones(len(inorder) + 1, dtype=bool)
    np.not_equal(inorder[1:], inorder[:-1], out=new[1:-1])
    return np.flatnonzero(new)


def group_rows(codes: NDArray[Any], sizes: Sequence[int]) -> tuple[Codes, Codes]:
    """A row of each distinct tuple, by position, and the group of every row; groups are in the order of their tuples.

    >>> first, group = group_rows(np.array([[1, 0], [0, 1], [1, 0]]), [2, 2])
    >>> first.tolist(), group.tolist()
    ([1, 0], [1, 0, 1])
    """
    distinct, group = group_keys(*row_keys(codes, sizes))
    first = np.empty(len(distinct), dtype=np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    return first, group


def summed(counts: Codes, group: Codes, groups: int) -> Codes:
    """The sum of the counts of each group; sums below 2**53 are exact."""
    return np.bincount(group, weights=counts, minlength=groups).astype(np.int64)


def group_tuples(codes: Codes, sizes: Sequence[int]) -> tuple[Codes, Codes]:
    """The distinct tuples in order, stored by columns, and the position of every row among them.

    >>> tuples, group = group_tuples(np.array([[1, 0], [0, 1], [1, 0]]), [2, 2])
    >>> tuples.tolist(), group.tolist()
    ([[0, 1], [1, 0]], [1, 0, 1])
    """
    if overflows(sizes):
        first, group = group_rows(codes, sizes)
        return np.asfortranarray(codes[first]), group
    keys, group = group_keys(*row_keys(codes, sizes))
    return tuples_of(keys, sizes), group


def overflows(sizes: Sequence[int]) -> bool:
    """Whether a key had to be compressed, so that it no longer tells its tuple."""
    return math.prod(max(size, 1) for size in sizes) > 2**62


def tuples_of(keys: Codes, sizes: Sequence[int]) -> Codes:
    """The tuples that keys stand for, stored by columns.

    Reading them off their keys goes through memory in order; picking the rows would jump about in it.
    """
    tuples = np.empty((len(keys), len(sizes)), dtype=np.int64, order="F")
    # Two buffers take turns: fresh memory costs more than the arithmetic.
    rest, quotient = keys.copy(), np.empty_like(keys)
    for position in range(len(sizes) - 1, -1, -1):
        column, size = tuples[:, position], max(sizes[position], 1)
        np.floor_divide(rest, size, out=quotient)
        np.multiply(quotient, size, out=column)
        np.subtract(rest, column, out=column)
        rest, quotient = quotient, rest
    return tuples


@dataclass(frozen=True, eq=False, repr=False)
class Tuples:
    """Tuples of codes, by rows: as a matrix, or as numbers that hold a tuple each with the width of every column.

    >>> import numpy as np
    >>> Tuples.packed(np.array([6, 3]), [1, 2]).codes.tolist()
    [[1, 2], [0, 3]]
    """

    _held: Codes
    _widths: tuple[int, ...] | None = None

    @classmethod
    def packed(cls, keys: Codes, widths: Sequence[int]) -> Tuples:
        return cls(keys, tuple(widths))

    @cached_property
    def codes(self) -> Codes:
        """The matrix, stored by columns."""
        return self._held if self._widths is None else unpacked(self._held, self._widths)
