"""Put values together in named groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from aegis.data.domain import show
from aegis.data.kind import Kind, Values
from aegis.errors import MaskError
from aegis.masking.mask import MASKS, ExpressionMask, as_objects
from aegis.masking.plural import count

if TYPE_CHECKING:
    import ibis.expr.types as ir

_READERS: dict[Kind, Callable[[str], Any]] = {
    Kind.TEXT: str,
    Kind.INTEGER: int,
    Kind.BOOLEAN: {"true": True, "false": False}.__getitem__,
}
Groups = tuple[tuple[str, tuple[str, ...]], ...]


@MASKS.register("regroup")
@dataclass(frozen=True, slots=True, kw_only=True)
class Regroup(ExpressionMask):
    """Replace a value by the name of its group, given as ``{name: [values]}``.

    A value in no group, one that comes later for instance, becomes ``other`` (``*`` unless set).

    >>> Regroup(groups={"south": ["it", "es"], "north": ["se"]}).on_values(as_objects(["es", "se", "fr"])).tolist()
    ['south', 'north', '*']
    """

    name: ClassVar[str] = "regroup"
    accepts: ClassVar[frozenset[Kind]] = frozenset(_READERS)
    example: ClassVar[tuple[str, str]] = ("it", "south")
    example_parameters: ClassVar[Mapping[str, Any]] = {"groups": {"south": ["it", "es"], "north": ["se"]}}

    groups: Groups | Mapping[str, Any] = field(repr=False)
    other: str = "*"

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", _frozen(self.groups))
        if not isinstance(self.other, str):
            raise MaskError(f"mask {self.name!r}: other must be text")
        values = [value for _, group in self._pairs() for value in group]
        repeated = len(values) - len(set(values))
        if repeated:
            are = "is" if repeated == 1 else "are"
            raise MaskError(
                f"mask {self.name!r}: {count(repeated, 'value')} {are} in more than one group; keep each in one"
            )

    def kind_after(self, kind: Kind) -> Kind:
        return Kind.TEXT

    def check(self, kind: Kind, *, column: str) -> None:
        ExpressionMask.check(self, kind, column=column)
        self._cases(kind)

    def on_values(self, values: Values) -> Values:
        label = {value: name for name, group in self._pairs() for value in group}
        return as_objects([label.get(show(value), self.other) for value in values.tolist()])

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        return column.cases(*self._cases(kind), else_=self.other)

    def describe(self) -> str:
        return f"{count(len(self._pairs()), 'group')} of values"

    def parameters(self) -> dict[str, Any]:
        given: dict[str, Any] = {"groups": {name: list(values) for name, values in self._pairs()}}
        return given if self.other == "*" else {**given, "other": self.other}

    def _pairs(self) -> Groups:
        assert isinstance(self.groups, tuple)
        return self.groups

    def _cases(self, kind: Kind) -> list[tuple[Any, str]]:
        read = _READERS[kind]
        try:
            return [(read(value), name) for name, group in self._pairs() for value in group]
        except (ValueError, KeyError):
            raise MaskError(f"mask {self.name!r}: a group lists something that is not {kind}") from None


def _frozen(groups: Any) -> Groups:
    pairs = groups.items() if isinstance(groups, Mapping) else groups
    try:
        frozen = tuple((show(name), tuple(show(v) for v in values)) for name, values in pairs)
        wrong = any(
            isinstance(values, str) for _, values in (groups.items() if isinstance(groups, Mapping) else groups)
        )
    except (TypeError, ValueError):
        wrong = True
    if wrong or not frozen or len({name for name, _ in frozen}) < len(frozen):
        raise MaskError("mask 'regroup': groups must map the name of each group to the list of its values")
    return frozen
