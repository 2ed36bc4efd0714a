"""Choosing among constants in an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ibis.expr.types as ir


def constant(column: ir.Column, value: Any) -> ir.Column:
    """A column that holds ``value`` in every row."""
    return column.isnull().ifelse(value, value)


def by_threshold(number: ir.Column, cuts: Sequence[Any], leaves: Sequence[Any]) -> ir.Column:
    """``leaves[i]`` where ``i`` of the sorted ``cuts`` are at or below the number.

    A balanced tree of conditions: its depth, and the work per row, grow with the logarithm of the number of leaves.
    """
    assert len(leaves) == len(cuts) + 1
    if not cuts:
        return constant(number, leaves[0])
    return _branch(number, cuts, leaves)


def _branch(number: ir.Column, cuts: Sequence[Any], leaves: Sequence[Any]) -> Any:
    if not cuts:
        return leaves[0]
    middle = len(cuts) // 2
    below = _branch(number, cuts[:middle], leaves[: middle + 1])
    above = _branch(number, cuts[middle + 1 :], leaves[middle + 1 :])
    return (number < cuts[middle]).ifelse(below, above)
