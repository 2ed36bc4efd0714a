"""Masks that draw another value: randomised response, and handing the column's values to other rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MaskError
from aegis.masking.mask import MASKS, Draw, PermutingMask, RandomMask, by_threshold
from aegis.masking.parameter import SCALARS, Number, Rule, is_list
from aegis.masking.transition import Channel

if TYPE_CHECKING:
    import ibis.expr.types as ir


class _Drawn:
    """Distinct values of a column."""

    def read(self, value: Any, *, mask: str, name: str) -> tuple[Any, ...]:
        if not is_list(value) or not all(isinstance(item, str | int | float | date) for item in value):
            raise MaskError(f"mask {mask!r}: {name} must be a list of texts, numbers or dates")
        if not value or len(set(value)) < len(value):
            raise MaskError(f"mask {mask!r}: {name} must be distinct, and one at least")
        return tuple(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": SCALARS}}


@MASKS.register("randomize")
@dataclass(frozen=True, slots=True, kw_only=True)
class Randomize(RandomMask):
    """Publish the value with probability ``keep``, else a uniform draw from the domain (the value itself included).

    Instead of ``keep`` one may give ``epsilon``: then no masked value is more than e^epsilon times as likely under
    one true value as under another. Missing stays missing and is not covered by that. ``values`` is the domain to
    draw from, the column's own unless given; which values those are is not covered either: one that a single record has
    is drawn for others, so that whoever sees it knows that somebody has it. Give ``values`` that are public where that
    is a secret.

    >>> coin = Randomize(keep=0.5).channel(Domain.of(Kind.TEXT, ["no", "yes"]), np.array([3, 1]))
    >>> coin.matrix.tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    name: ClassVar[str] = "randomize"
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {"pram": {}, "randomized_response": {}}
    draws: ClassVar[int] = 2
    example: ClassVar[tuple[str, str]] = ("yes", "yes or no")
    example_parameters: ClassVar[Mapping[str, Any]] = {"keep": 0.8}
    rules: ClassVar[Mapping[str, Rule]] = {
        "keep": Number(at_least=0, at_most=1),
        "epsilon": Number(at_least=0),
        "values": _Drawn(),
    }
    one_of: ClassVar[tuple[str, ...]] = ("keep", "epsilon")

    keep: float | None = None
    epsilon: float | None = None
    values: tuple[Any, ...] | None = field(default=None, repr=False)

    def resolve(self, domain: Domain, counts: NDArray[Any]) -> Randomize:
        """With the domain to draw from."""
        if self.values is not None or not len(domain.values):
            return self
        return Randomize(keep=self.keep, epsilon=self.epsilon, values=tuple(domain.values.tolist()))

    def keeps(self, size: int) -> float:
        """The probability not to draw, for a domain of this size.

        >>> round(Randomize(epsilon=math.log(3)).keeps(2), 12)
        0.5
        """
        if self.keep is not None:
            return self.keep
        assert self.epsilon is not None
        below = math.exp(-self.epsilon)  # e^-ε does not overflow
        return (1 - below) / (1 + (size - 1) * below)

    def channel(self, domain: Domain, counts: NDArray[Any]) -> Channel:
        if not len(domain.values):
            return Channel(matrix=np.eye(domain.size), target=domain)
        resolved = self.resolve(domain, counts)
        assert resolved.values is not None
        drawn = Domain.of(domain.kind, self._typed(resolved.values, domain.kind))
        target = Domain.of(
            domain.kind, np.concatenate([drawn.values, domain.values]), missing=domain.missing
        )  # a kept value need not be one that can be drawn
        keep = self.keeps(len(drawn.values))
        matrix = np.zeros((domain.size, target.size))
        present = len(domain.values)
        matrix[:present, target.codes(drawn.values)] = (1 - keep) / len(drawn.values)
        matrix[np.arange(present), target.codes(domain.values)] += keep
        if domain.missing:
            matrix[-1, -1] = 1.0
        return Channel(matrix=matrix, target=target)

    def expression(self, column: ir.Column, kind: Kind, draw: Draw) -> ir.Column:
        if self.values is None:
            return column  # a column without values has nothing to draw
        size = len(self.values)
        stay, which = draw(), draw()
        # Numbers travel as text: engines type decimal literals in their own ways.
        leaves = self._typed(self.values, kind).tolist()
        leaves = [repr(number) for number in leaves] if kind is Kind.REAL else leaves
        drawn = by_threshold((which * size).floor().cast("int64"), list(range(1, size)), leaves)
        if kind is Kind.REAL:
            drawn, column = drawn.cast("float64"), column.cast("float64")
        return (stay < self.keeps(size)).ifelse(column, drawn)

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [True] * len(texts)  # any value may have been kept

    def describe(self) -> str:
        drawn = " from the column's own values, which are no secret" if self.values is None else ""
        if self.keep is not None:
            return f"kept with probability {self.keep:g}, else drawn at random{drawn}"
        return f"randomised response with epsilon {self.epsilon:g}{', drawn' + drawn if drawn else ''}"

    def parameters(self) -> dict[str, Any]:
        stated = RandomMask.parameters(self)
        if self.values is not None:
            stated["values"] = [v.isoformat() if isinstance(v, date | datetime) else v for v in self.values]
        return stated

    def _typed(self, values: tuple[Any, ...], kind: Kind) -> Any:
        try:
            return np.array(list(values), dtype=kind.dtype)
        except (TypeError, ValueError):
            raise MaskError(f"mask {self.name!r}: values must be of the column's kind, {kind}") from None


@MASKS.register("shuffle")
@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle(PermutingMask):
    """Hand the values of the column, missing ones included, to the rows in random order.

    The histogram stays as it is. Its expectation is scored: every row may get every value, in proportion to how often
    it occurs, so nothing is left of the relation with the label.

    >>> Shuffle().describe()
    'shuffled'
    """

    name: ClassVar[str] = "shuffle"
    aliases: ClassVar[Mapping[str, Mapping[str, Any]]] = {"permute": {}}
    covers_missing: ClassVar[bool] = True
    example: ClassVar[tuple[str, str]] = ("43", "27 (of another row)")

    def channel(self, domain: Domain, counts: NDArray[Any]) -> Channel:
        weights = np.asarray(counts, dtype=np.float64)
        total = weights.sum()
        shares = weights / total if total > 0 else np.full(domain.size, 1 / max(domain.size, 1))
        return Channel(matrix=np.tile(shares, (domain.size, 1)), target=domain)

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        return [True] * len(texts)

    def describe(self) -> str:
        return "shuffled"
