"""Replace a number by the bucket it falls in."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain, distinct, show
from aegis.data.kind import NUMBERS, Kind, Values
from aegis.data.published_values import Interval
from aegis.errors import MaskError
from aegis.masking.grid import Grid, edge_between, round_ends, without_few
from aegis.masking.mask import MASKS, ExpressionMask, apart, as_objects, beside_written, by_threshold, is_multiple
from aegis.masking.parameter import Number, Rule, Whole, check_finite, fifteen_digits, is_list
from aegis.plural import count

if TYPE_CHECKING:
    import ibis.expr.types as ir

_MOST_BUCKETS = 10_000
_LONGEST = 10**15  # from here on whole numbers have more than fifteen digits
_LEAST, _MOST = -(2**63), 2**63 - 1  # of the whole numbers that a column holds


class _Edges:
    """Numbers that rise from one to the next; a schema can say no more than that they differ."""

    def read(self, value: Any, *, mask: str, name: str) -> tuple[float, ...]:
        if not is_list(value) or not 1 <= len(value) <= _MOST_BUCKETS:
            raise MaskError(f"mask {mask!r}: {name} must be a list of 1 to {_MOST_BUCKETS} numbers")
        for edge in value:
            check_finite(edge, mask=mask, name="each edge")
            if abs(edge) >= _LONGEST and edge != fifteen_digits(float(edge)):
                raise MaskError(
                    f"mask {mask!r}: an edge has more than fifteen digits, and numbers of that size are not told apart "
                    "exactly; round it to fifteen"
                )
        fixed = tuple(fifteen_digits(edge) for edge in value)
        if any(a >= b for a, b in itertools.pairwise(fixed)):
            raise MaskError(f"mask {mask!r}: {name} must rise from one to the next")
        return fixed

    def schema(self) -> dict[str, Any]:
        size = {"minItems": 1, "maxItems": _MOST_BUCKETS, "uniqueItems": True}
        return {"type": "array", "items": {"type": "number"}, **size}


@MASKS.register("bucketize")
@dataclass(frozen=True, slots=True, kw_only=True)
class Bucketize(ExpressionMask):
    """Replace a number by the bucket it falls in, shown ``[a, b)``.

    Give exactly one of ``width`` (with ``origin``, where a bucket starts), ``edges``, ``count`` (as many buckets of
    equal width) or ``quantiles`` (as many buckets of about equal frequency). The last two read their edges off the
    data; those of equal width lie between round numbers that a few records are at or beyond, so that they give away
    neither the smallest nor the largest. Numbers outside the edges fall in ``(-inf, first)`` and ``[last, inf)``.

    >>> Bucketize(width=10).on_values(np.array([43, 40, -1])).tolist()
    ['[40, 50)', '[40, 50)', '[-10, 0)']
    >>> Bucketize(edges=(18, 65)).on_values(np.array([17.5, 18, 80])).tolist()
    ['(-inf, 18)', '[18, 65)', '[65, inf)']
    >>> Bucketize(quantiles=4).describe()
    '4 buckets of equal frequency'
    """

    name: ClassVar[str] = "bucketize"
    kind_written: ClassVar[Kind | None] = Kind.TEXT
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {"bin": {}}
    accepts: ClassVar[frozenset[Kind]] = NUMBERS
    example: ClassVar[tuple[str, str]] = ("43", "[40, 50)")
    example_parameters: ClassVar[Mapping[str, Any]] = {"width": 10}
    rules: ClassVar[Mapping[str, Rule]] = {
        "width": Number(above=0),
        "origin": Number(),
        "edges": _Edges(),
        "count": Whole(at_least=1, at_most=_MOST_BUCKETS),
        "quantiles": Whole(at_least=1, at_most=_MOST_BUCKETS),
    }
    one_of: ClassVar[tuple[str, ...]] = ("width", "edges", "count", "quantiles")
    goes_with: ClassVar[Mapping[str, str]] = {"origin": "width"}

    width: float | None = None
    origin: float = 0
    edges: tuple[float, ...] | None = None
    count: int | None = None
    quantiles: int | None = None

    def __post_init__(self) -> None:
        ExpressionMask.__post_init__(self)
        if self.width is not None:
            self._grid()

    def resolve(self, domain: Domain, counts: NDArray[Any]) -> Bucketize:
        """With ``count`` and ``quantiles`` turned into edges."""
        if self.count is None and self.quantiles is None:
            return self
        values = domain.values
        if len(values) < 2 or 1 in (self.count, self.quantiles):
            return Bucketize(edges=(_below_all(values),))
        if self.count is not None:
            return Bucketize(edges=_equal_width(without_few(values, counts), domain.kind, self.count))
        assert self.quantiles is not None
        frequencies = np.asarray(counts[: len(values)], dtype=np.float64)
        return Bucketize(edges=_equal_frequency(domain, frequencies, self.quantiles))

    def on_values(self, values: Values) -> Values:
        if self.width is not None:
            grid = self._grid()
            low = grid.low(values, Kind.INTEGER if values.dtype.kind in "iu" else Kind.REAL)
            ends = zip(grid.text(low), grid.text(low + grid.width), strict=True)
            return as_objects([f"[{a}, {b})" for a, b in ends])
        edges = self._resolved_edges()
        if values.dtype.kind in "iu":
            cuts, labels = _whole_cuts(edges)
            return as_objects(labels)[np.searchsorted(np.array(cuts, dtype=np.int64), values, side="right")]
        return as_objects(_labels(edges))[np.searchsorted(edges, values, side="right")]

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        if self.width is not None:
            grid = self._grid()
            low = grid.low_expression(column, kind)
            return "[" + grid.text_expression(low) + ", " + grid.text_expression(low + grid.width) + ")"
        edges = self._resolved_edges()
        if kind is Kind.INTEGER:
            return by_threshold(column.cast("int64"), *_whole_cuts(edges))
        return by_threshold(column.cast("float64"), edges, _labels(edges))

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        if self.width is not None:
            return [self._is_bucket(Interval.parse(text)) for text in texts]
        if self.edges is not None:
            labels = set(_labels(self.edges))
            return [text in labels for text in texts]
        read = [Interval.parse(text) for text in texts]
        most = self.count or self.quantiles or 1
        # Earlier versions put the edge of a single bucket on the least value, and made two where a row came below it.
        return apart([None if i is None or i.closed_high else (i.low, i.high) for i in read], most=max(most, 2))

    def _is_bucket(self, interval: Interval | None) -> bool:
        if interval is None or interval.closed_high or not interval.closed_low or self.width is None:
            return False
        wide = abs(interval.high - interval.low - self.width) <= 1e-9 * max(abs(interval.high), self.width)
        return wide and is_multiple(interval.low - self.origin, self.width)

    @property
    def labels(self) -> tuple[str, ...]:
        return () if self.edges is None else tuple(_labels(self.edges))

    def without_values(self, written: Collection[str] | None = None) -> Bucketize:
        if self.edges is None or written is None:
            return self
        return replace(self, edges=beside_written(self.edges, self.labels, written) or (0.0,))

    def describe(self) -> str:
        if self.width is not None:
            start = f" from {show(self.origin)}" if self.origin else ""
            return f"buckets of width {show(self.width)}{start}"
        if self.edges is not None:
            return f"{count(len(self.edges) + 1, 'bucket')} with given edges"
        if self.count is not None:
            return f"{count(self.count, 'bucket')} of equal width"
        assert self.quantiles is not None
        return f"{count(self.quantiles, 'bucket')} of equal frequency"

    def _grid(self) -> Grid:
        assert self.width is not None
        return Grid.of(width=self.width, origin=self.origin)

    def _resolved_edges(self) -> tuple[float, ...]:
        if self.edges is None:
            raise MaskError(f"mask {self.name!r} with count or quantiles must be resolved on a column first")
        return self.edges


def _below_all(values: Values) -> float:
    """The edge of a single bucket: nought, or below it a power of ten, so that it is not the least value."""
    least = float(values[0]) if len(values) else 0.0
    return 0.0 if least >= 0 else -(10.0 ** min(math.ceil(math.log10(-least)), 308))


def _whole_cuts(edges: tuple[float, ...]) -> tuple[list[int], list[str]]:
    """Where whole numbers pass each edge, and what they are between: as doubles those beyond 2^53 would pass others'.

    Edges that no whole number of a column reaches, or that all of them have passed, part nothing.
    """
    cuts, labels = [math.ceil(edge) for edge in edges], _labels(edges)
    passed = sum(cut <= _LEAST for cut in cuts)
    reached = sum(cut <= _MOST for cut in cuts)
    return cuts[passed:reached], labels[passed : reached + 1]


def _labels(edges: tuple[float, ...]) -> list[str]:
    ends = (-math.inf, *edges, math.inf)
    return [str(Interval(low, high)) for low, high in itertools.pairwise(ends)]


def _equal_width(values: Values, kind: Kind, count: int) -> tuple[float, ...]:
    low, high = round_ends(values)
    shares = np.arange(1, count) / count
    inner = low * (1 - shares) + high * shares
    if kind is Kind.INTEGER:
        return tuple(sorted({fifteen_digits(float(edge)) for edge in np.ceil(inner).tolist()}))
    # Four digits below the spread are plenty for an edge that nobody chose.
    decimals = 4 - math.floor(math.log10(max(high / 2 - low / 2, 1e-300)))
    rounded = np.round(inner, decimals) if abs(decimals) < 15 else inner
    return tuple(sorted({fifteen_digits(edge) for edge in rounded.tolist()}))


def _equal_frequency(domain: Domain, counts: NDArray[np.float64], quantiles: int) -> tuple[float, ...]:
    numbers = domain.values.astype(np.float64)
    before = np.concatenate([[0.0], np.cumsum(counts)[:-1]])  # how many records lie below each value
    goals = counts.sum() * np.arange(1, quantiles) / quantiles
    right = np.clip(np.searchsorted(before, goals), 1, len(numbers) - 1)
    nearer_left = (right > 1) & (goals - before[right - 1] < before[right] - goals)
    cuts = distinct(np.where(nearer_left, right - 1, right))
    edges = (
        edge_between(float(numbers[cut - 1]), float(numbers[cut]), domain.kind) for cut in cuts.astype(int).tolist()
    )
    return tuple(sorted({fifteen_digits(edge) for edge in edges}))
