"""Replace a value by its label in a hierarchy."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from aegis.data.domain import Domain, show
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind, Values
from aegis.errors import HierarchyError, MaskError
from aegis.masking.mask import MASKS, MappedMask, as_objects
from aegis.masking.parameter import SCALARS, Rule, Whole
from aegis.plural import count


class _OfColumn:
    """A hierarchy, which a configuration names or writes out in rows."""

    def read(self, value: Any, *, mask: str, name: str) -> Hierarchy:
        if not isinstance(value, Hierarchy):
            raise MaskError(f"mask {mask!r}: {name} must be a hierarchy, given as a file or as rows")
        return value

    def schema(self) -> dict[str, Any]:
        row = {"type": "array", "minItems": 1, "items": {"type": SCALARS}}
        return {"anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": row}]}


@MASKS.register("generalize")
@dataclass(frozen=True, slots=True, kw_only=True)
class Generalize(MappedMask):
    """Replace a value by its label at ``level`` of the column's ``hierarchy`` (level 0 is the value itself).

    A value that the hierarchy does not hold is an error while advising, and ``*`` in rows that come later. A range of
    a column that has too many values to be counted one by one goes with the first value in it.

    >>> sizes = Hierarchy.of([["1", "few", "*"], ["2", "few", "*"], ["9", "many", "*"]])
    >>> Generalize(level=1, hierarchy=sizes).on_values(as_objects(["9", "2"])).tolist()
    ['many', 'few']
    >>> Generalize(level=1, hierarchy=sizes).without_values(["few"]).hierarchy.rows
    (('few', 'few'),)
    """

    name: ClassVar[str] = "generalize"
    kind_written: ClassVar[Kind | None] = Kind.TEXT
    needs_hierarchy: ClassVar[bool] = True
    lists_values: ClassVar[bool] = True
    example: ClassVar[tuple[str, str]] = ("Bachelors", "Undergraduate")
    example_parameters: ClassVar[Mapping[str, Any]] = {
        "level": 1,
        "hierarchy": [
            ["Bachelors", "Undergraduate", "*"],
            ["Some-college", "Undergraduate", "*"],
            ["11th", "School", "*"],
        ],
    }
    rules: ClassVar[Mapping[str, Rule]] = {"level": Whole(at_least=0, at_most=1000), "hierarchy": _OfColumn()}

    level: int
    hierarchy: Hierarchy | None = None

    def __post_init__(self) -> None:
        MappedMask.__post_init__(self)
        if self.hierarchy is not None and self.level > self.hierarchy.top:
            raise MaskError(f"mask {self.name!r}: the hierarchy has levels 0 to {self.hierarchy.top}, not {self.level}")

    def check(self, kind: Kind, *, column: str) -> None:
        if self.hierarchy is None:
            raise MaskError(f"mask {self.name!r} on column {column!r} needs a hierarchy; name its file")

    def check_domain(self, domain: Domain, *, column: str) -> None:
        self.check(domain.kind, column=column)
        assert self.hierarchy is not None
        if not domain.discretised:
            self.hierarchy.check_covers(domain, column=column)

    def resolve(self, domain: Domain, counts: NDArray[Any]) -> Generalize:
        """With a row for every range, where the column was counted in ranges: the row of the first value in it."""
        if not domain.discretised or self.hierarchy is None:
            return self
        leaves = {row[0] for row in self.hierarchy.rows}
        ranges = [text for text in map(show, domain.values.tolist()) if text not in leaves]
        if not ranges:
            return self
        place: Callable[[str], Any] = float if domain.kind.is_number else str  # days and times sort as they are written
        try:
            rows = sorted(self.hierarchy.rows, key=lambda row: place(row[0]))
        except ValueError:
            raise HierarchyError("a hierarchy of a column of numbers begins a line with something else") from None
        places = [place(row[0]) for row in rows]
        nearest = [min(bisect_left(places, place(text)), len(rows) - 1) for text in ranges]
        added = [(text, *rows[at][1:]) for text, at in zip(ranges, nearest, strict=True)]
        return Generalize(level=self.level, hierarchy=Hierarchy.of([*self.hierarchy.rows, *added]))

    def on_values(self, values: Values) -> Values:
        if self.hierarchy is None:
            raise MaskError(f"mask {self.name!r} needs a hierarchy; name its file")
        labels = self.hierarchy.at(self.level)
        masked = [labels.get(show(value)) for value in values.tolist()]
        absent = masked.count(None)
        if absent:
            raise HierarchyError(
                f"a hierarchy misses {absent} of its column's {count(len(masked), 'value')}; add a line for each"
            )
        return as_objects(masked)

    def could_write(self, texts: Sequence[str]) -> list[bool]:
        if self.hierarchy is None:
            raise MaskError(f"mask {self.name!r} has no hierarchy, so nobody can say what it writes; give it one")
        labels = set(self.hierarchy.at(self.level).values())
        return [text in labels for text in texts]

    @property
    def labels(self) -> tuple[str, ...]:
        return () if self.hierarchy is None else tuple(self.hierarchy.at(self.level).values())

    def without_values(self, written: Collection[str] | None = None) -> Generalize:
        if self.hierarchy is None:
            return self
        stated = [label for label in dict.fromkeys(self.labels) if written is None or label in written] or ["*"]
        return replace(self, hierarchy=Hierarchy.of([[label] * (self.level + 1) for label in stated]))

    def gives(self, groups: Mapping[str, Collection[str]]) -> bool:
        if self.hierarchy is None:
            return not groups
        label_of = self.hierarchy.at(self.level)
        return all(label_of.get(value) == label for label, values in groups.items() for value in values)

    def describe(self) -> str:
        return f"generalised to level {self.level}"

    def parameters(self) -> dict[str, Any]:
        stated: dict[str, Any] = {"level": self.level}
        if self.hierarchy is not None:
            stated["hierarchy"] = [list(row) for row in self.hierarchy.rows]
        return stated

    def fingerprint(self) -> Any:
        digest = None if self.hierarchy is None else self.hierarchy.digest
        return {self.name: {"level": self.level, "hierarchy": digest}}

    @classmethod
    def from_parameters(cls, parameters: dict[str, Any]) -> Self:
        """``hierarchy`` may be a list of rows."""
        rows = parameters.get("hierarchy")
        if isinstance(rows, list | tuple):
            if not all(isinstance(row, list | tuple) for row in rows):
                raise MaskError(f"mask {cls.name!r}: hierarchy must be a list of rows, each a list of labels")
            try:
                parameters = {**parameters, "hierarchy": Hierarchy.of(rows)}
            except HierarchyError as error:
                raise MaskError(f"mask {cls.name!r}: {error}") from None
        return cls._build(parameters)
