"""The ranges that the published Aegis makes of whole numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind, Values
from aegis.errors import MaskError
from aegis.masking.grid import round_ends
from aegis.masking.mask import MASKS, ExpressionMask, apart, as_objects, by_threshold
from aegis.masking.parameter import Rule, Whole

if TYPE_CHECKING:
    import ibis.expr.types as ir

_FAR = 2**53
_WRITTEN = re.compile(r"(-?[0-9]+):(-?[0-9]+)")


@MASKS.register("ranges")
@dataclass(frozen=True, slots=True, kw_only=True)
class Ranges(ExpressionMask):
    """Replace a whole number by one of ``count`` ranges of about equal size, shown ``s:e``.

    With ``size, rest = divmod(high - low, count)`` the i-th range runs from its start to ``start + size``, one further
    for the first ``rest`` ranges, both ends included; the next starts one later. Whatever lies outside all of them
    belongs to the last. ``low`` and ``high`` are round numbers around the column's smallest and largest unless given,
    which would be somebody's.

    >>> Ranges(count=3, low=0, high=10).on_values(np.array([0, 4, 5, 8, 9, 99])).tolist()
    ['0:4', '0:4', '5:8', '5:8', '9:12', '9:12']
    """

    name: ClassVar[str] = "ranges"
    kind_written: ClassVar[Kind | None] = Kind.TEXT
    accepts: ClassVar[frozenset[Kind]] = frozenset({Kind.INTEGER})
    example: ClassVar[tuple[str, str]] = ("43", "43:67")
    example_parameters: ClassVar[Mapping[str, Any]] = {"count": 3, "low": 17, "high": 90}
    rules: ClassVar[Mapping[str, Rule]] = {
        "count": Whole(at_least=1, at_most=10_000),
        "low": Whole(at_least=-_FAR, at_most=_FAR),
        "high": Whole(at_least=-_FAR, at_most=_FAR),
    }
    together: ClassVar[tuple[tuple[str, str], ...]] = (("low", "high"),)

    count: int
    low: int | None = None
    high: int | None = None

    def __post_init__(self) -> None:
        ExpressionMask.__post_init__(self)
        if self.low is not None and self.high is not None and self.low > self.high:
            raise MaskError(f"mask {self.name!r}: low must not be above high")

    def resolve(self, domain: Domain, counts: NDArray[Any]) -> Ranges:
        """With round numbers around the smallest and the largest value of the column."""
        if self.low is not None:
            return self
        low, high = round_ends(domain.values) if len(domain.values) else (0, 0)
        return Ranges(count=self.count, low=max(int(low), -_FAR), high=min(int(high), _FAR))

    def on_values(self, values: Values) -> Values:
        starts, labels = self._ranges()
        index = np.searchsorted(starts, values, side="right") - 1
        return as_objects(labels)[np.where(index < 0, self.count - 1, index)]

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        starts, labels = self._ranges()
        return by_threshold(column.cast("int64"), starts, [labels[-1], *labels])

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        if self.low is not None:
            labels = set(self._ranges()[1])
            return [text in labels for text in texts]
        ends = [_WRITTEN.fullmatch(text) for text in texts]
        return apart([None if end is None else (int(end[1]), int(end[2])) for end in ends], most=self.count)

    def describe(self) -> str:
        return f"{self.count} ranges of whole numbers"

    def _ranges(self) -> tuple[list[int], list[str]]:
        """Where each range starts, and how it is shown."""
        if self.low is None or self.high is None:
            raise MaskError(f"mask {self.name!r} must be resolved on a column first")
        size, rest = divmod(self.high - self.low, self.count)
        starts, labels, start = [], [], self.low
        for i in range(self.count):
            end = start + size + (1 if i < rest else 0)
            starts.append(start)
            labels.append(f"{start}:{end}")
            start = end + 1
        return starts, labels
