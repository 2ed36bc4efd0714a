"""Put values together in named groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from aegis.data.domain import show
from aegis.data.kind import Kind, Values
from aegis.errors import MaskError
from aegis.masking.mask import MASKS, ExpressionMask, as_objects
from aegis.masking.parameter import SCALARS, Rule, Text, is_list
from aegis.plural import count

if TYPE_CHECKING:
    import ibis.expr.types as ir

_READERS: dict[Kind, Callable[[str], Any]] = {
    Kind.TEXT: str,
    Kind.INTEGER: int,
    Kind.BOOLEAN: {"true": True, "false": False}.__getitem__,
}
Groups = tuple[tuple[str, tuple[str, ...]], ...]


class _ByName:
    """The list of values of each group, by the group's name: a mapping, or pairs of both."""

    def read(self, value: Any, *, mask: str, name: str) -> Groups:
        pairs = list(value.items()) if isinstance(value, Mapping) else value
        try:
            frozen = tuple((show(group), tuple(show(value) for value in values)) for group, values in pairs)
            plain = all(is_list(values) and not _nested([group, *values]) for group, values in pairs)
        except (TypeError, ValueError):
            plain, frozen = False, ()
        if not plain or not frozen or len({group for group, _ in frozen}) < len(frozen):
            raise MaskError(f"mask {mask!r}: {name} must map the name of each group to the list of its values")
        return frozen

    def schema(self) -> dict[str, Any]:
        values = {"type": "array", "items": {"type": SCALARS}}
        pair = {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [{"type": SCALARS}, values]}
        return {
            "anyOf": [
                {"type": "object", "minProperties": 1, "additionalProperties": values},
                {"type": "array", "minItems": 1, "items": pair},
            ]
        }


def _nested(values: list[Any]) -> bool:
    return any(value is None or isinstance(value, Mapping) or is_list(value) for value in values)


@MASKS.register("regroup")
@dataclass(frozen=True, slots=True, kw_only=True)
class Regroup(ExpressionMask):
    """Replace a value by the name of its group, given as ``{name: [values]}``.

    A value in no group, one that comes later for instance, becomes ``other`` (``*`` unless set).

    >>> Regroup(groups={"south": ["it", "es"], "north": ["se"]}).on_values(as_objects(["es", "se", "fr"])).tolist()
    ['south', 'north', '*']
    >>> sizes = Regroup(groups={"few": ["1", "2"], "many": ["9"]})
    >>> sizes.gives({"few": ["2"]}), sizes.gives({"many": ["2"]})
    (True, False)
    """

    name: ClassVar[str] = "regroup"
    kind_written: ClassVar[Kind | None] = Kind.TEXT
    accepts: ClassVar[frozenset[Kind]] = frozenset(_READERS)
    lists_values: ClassVar[bool] = True
    example: ClassVar[tuple[str, str]] = ("it", "south")
    example_parameters: ClassVar[Mapping[str, Any]] = {"groups": {"south": ["it", "es"], "north": ["se"]}}
    rules: ClassVar[Mapping[str, Rule]] = {"groups": _ByName(), "other": Text()}

    groups: Groups | Mapping[str, Any] = field(repr=False)
    other: str = "*"

    def __post_init__(self) -> None:
        ExpressionMask.__post_init__(self)
        values = [value for _, group in self._pairs() for value in group]
        repeated = len(values) - len(set(values))
        if repeated:
            are = "is" if repeated == 1 else "are"
            raise MaskError(
                f"mask {self.name!r}: {count(repeated, 'value')} {are} in more than one group; keep each in one"
            )

    def check(self, kind: Kind, *, column: str) -> None:
        ExpressionMask.check(self, kind, column=column)
        self._cases(kind)

    def on_values(self, values: Values) -> Values:
        label_of = self._label_of()
        return as_objects([label_of.get(show(value), self.other) for value in values.tolist()])

    def expression(self, column: ir.Column, kind: Kind) -> ir.Column:
        return column.cases(*self._cases(kind), else_=self.other)

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        names = {self.other, *self.labels}
        return [text in names for text in texts]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self._pairs())

    def without_values(self, written: Collection[str] | None = None) -> Regroup:
        stated = [name for name in self.labels if written is None or name in written]
        return replace(self, groups={name: [] for name in stated or [self.other]})

    def gives(self, groups: Mapping[str, Collection[str]]) -> bool:
        label_of = self._label_of()
        return all(label_of.get(value) == label for label, values in groups.items() for value in values)

    def describe(self) -> str:
        return f"{count(len(self._pairs()), 'group')} of values"

    def parameters(self) -> dict[str, Any]:
        stated: dict[str, Any] = {"groups": {name: list(values) for name, values in self._pairs()}}
        return stated if self.other == "*" else {**stated, "other": self.other}

    def _pairs(self) -> Groups:
        assert isinstance(self.groups, tuple)
        return self.groups

    def _label_of(self) -> dict[str, str]:
        return {value: name for name, group in self._pairs() for value in group}

    def _cases(self, kind: Kind) -> list[tuple[Any, str]]:
        read = _READERS[kind]
        try:
            return [(read(value), name) for name, group in self._pairs() for value in group]
        except (ValueError, KeyError):
            raise MaskError(f"mask {self.name!r}: a group lists something that is not {kind}") from None
