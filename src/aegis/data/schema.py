"""What the columns of a table are called, how they are written, what they hold, and what part they play in privacy.

The part may be said in a small YAML file beside the data (`RolesFile`). ``1.234,5`` is a number to one reader and a
text to another, and ``03/04/2024`` is a day in March or in April: nothing is guessed, whoever knows names the columns
(`Notation`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from aegis.data.kind import Kind
from aegis.data.yaml_text import MARK, part_of, read_mapping
from aegis.errors import AegisError, DataError, RoleError

NOTATIONS = ("decimal_comma", "day_first", "month_first")
"""How a column may be written: the names of the options, and the keys of a roles file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notation:
    """The columns of text that hold numbers with a decimal comma, and dates with the day or the month first."""

    decimal_comma: tuple[str, ...] = ()
    day_first: tuple[str, ...] = ()
    month_first: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        named = self.columns
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise DataError(f"{twice[0]!r} is said to be written in two ways; name it under one of them")

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.decimal_comma, *self.day_first, *self.month_first)

    def of(self, column: str) -> str:
        """How a column is written, by the name of the option."""
        return next(name for name in NOTATIONS if column in getattr(self, name))


class Role(StrEnum):
    """The part a column plays. The words are the field's, the label is ours."""

    IDENTIFYING = "identifying"
    QUASI_IDENTIFYING = "quasi_identifying"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"
    LABEL = "label"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column's name and kind."""

    name: str
    kind: Kind


def check_columns(names: Iterable[str], there: Collection[str], *, error: type[AegisError] = RoleError) -> None:
    """Raise for the first name that is none of the columns that are ``there``."""
    for name in names:
        if name not in there:
            raise error(_no_column(name, there))


def _no_column(name: str, there: Collection[str]) -> str:
    return f"there is no column {name!r}; the columns are {', '.join(there)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The columns of a table, in order."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def kind(self, name: str) -> Kind:
        for column in self.columns:
            if column.name == name:
                return column.kind
        raise RoleError(_no_column(name, self.names))

    def check(self, *names: str, error: type[AegisError] = RoleError) -> None:
        """Raise unless all these columns are there; the error says which there are."""
        check_columns(names, self.names, error=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which column plays which part; columns left out play none until somebody decides.

    >>> roles = Roles(label="health", quasi_identifying=("age", "zip"))
    >>> roles["age"].value, roles.get("weight")
    ('quasi_identifying', None)
    """

    label: str | None = None
    identifying: tuple[str, ...] = ()
    quasi_identifying: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
    _by_column: dict[str, Role] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        for role, columns in self._listed():
            for column in columns:
                taken = self._by_column.get(column)
                # A label may be sensitive as well: the outcome is often what must not be disclosed.
                if taken is role:
                    raise RoleError(f"column {column!r} is named twice as {role.value}; name it once")
                if taken is not None and {taken, role} != {Role.LABEL, Role.SENSITIVE}:
                    raise RoleError(f"column {column!r} is named both {taken.value} and {role.value}; give it one role")
                self._by_column.setdefault(column, role)

    def _listed(self) -> Iterable[tuple[Role, tuple[str, ...]]]:
        yield Role.LABEL, () if self.label is None else (self.label,)
        yield Role.IDENTIFYING, self.identifying
        yield Role.QUASI_IDENTIFYING, self.quasi_identifying
        yield Role.SENSITIVE, self.sensitive
        yield Role.INSENSITIVE, self.insensitive

    def __getitem__(self, column: str) -> Role:
        return self._by_column[column]

    def get(self, column: str) -> Role | None:
        return self._by_column.get(column)

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that has a role."""
        return tuple(self._by_column)

    def overridden_by(self, other: Roles) -> Roles:
        """These roles, except where ``other`` names a column or a label.

        A label that ``other`` calls identifying or quasi-identifying is the label no more: whoever says that a column
        names people must not see it published.
        """
        taken = set(other.named)

        def merged(ours: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...]:
            return theirs + tuple(c for c in ours if c not in taken)

        label = other.label
        if label is None and self.label not in (*other.identifying, *other.quasi_identifying):
            label = self.label
        return Roles(
            label=label,
            identifying=tuple(c for c in merged(self.identifying, other.identifying) if c != label),
            quasi_identifying=tuple(c for c in merged(self.quasi_identifying, other.quasi_identifying) if c != label),
            sensitive=merged(self.sensitive, other.sensitive),
            insensitive=tuple(c for c in merged(self.insensitive, other.insensitive) if c != label),
        )

    def checked_against(self, schema: Schema) -> Roles:
        """These roles, or an error that names every column the table does not have."""
        absent = [repr(column) for column in self.named if column not in schema]
        if absent:
            several = "columns" if len(absent) > 1 else "column"
            raise RoleError(
                f"the roles name {several} {', '.join(absent)}, which the table does not have; "
                f"its columns are {', '.join(schema.names)}"
            )
        return self

    def to_mapping(self) -> dict[str, object]:
        """The form that is written to YAML: only what is set."""
        listed: dict[str, object] = {} if self.label is None else {"label": self.label}
        for role, columns in self._listed():
            if columns and role is not Role.LABEL:
                listed[role.value] = list(columns)
        return listed

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object], *, where: str) -> Roles:
        """Read ``{label: y, quasi_identifying: [a, b], …}``."""
        role_names = {role.value for role in Role}
        if not isinstance(mapping, Mapping):
            raise RoleError(f"{where}: roles must be written as {{role: [column, …]}}")
        unknown = sorted(set(map(str, mapping)) - role_names)
        if unknown:
            raise RoleError(
                f"{where} names unknown roles {', '.join(unknown)}; the roles are {', '.join(sorted(role_names))}"
            )
        label = mapping.get("label")
        if label is not None and not isinstance(label, str):
            raise RoleError(f"{where}: label must be the name of one column")
        lists: dict[str, tuple[str, ...]] = {}
        for role in role_names - {"label"}:
            columns = mapping.get(role) or []
            if isinstance(columns, str):
                columns = [columns]
            if not isinstance(columns, list | tuple) or not all(isinstance(c, str) for c in columns):
                raise RoleError(f"{where}: {role} must be a list of column names")
            lists[role] = tuple(columns)
        return cls(label=label, **lists)


@dataclass(frozen=True, slots=True, kw_only=True)
class RolesFile:
    """Roles, the texts that mean a missing value, the order of texts that have one (``order``, by column), and how
    columns are written (``notation``)."""

    roles: Roles = field(default_factory=Roles)
    missing: tuple[str, ...] = ()
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notation: Notation = field(default_factory=Notation)


def roles_path(data: Path) -> Path:
    """Where the roles of a data file are looked for.

    >>> roles_path(Path("folder/clinic.csv")).as_posix()
    'folder/clinic.roles.yaml'
    """
    if data.name in ("", ".."):  # "." and ".." are folders with names too
        data = data.resolve()
    return data.parent / f"{data.name.split('.')[0]}.roles.yaml"


def roles_beside(source: Any) -> RolesFile:
    """The roles file of a source, empty where there is none."""
    if not isinstance(source, str | Path) or "://" in str(source):
        return RolesFile()
    path = roles_path(Path(source))
    try:
        beside = path.exists()
    except (OSError, ValueError):  # not a path at all; opening it says so
        beside = False
    return read_roles(path) if beside else RolesFile()


def read_roles(path: Path) -> RolesFile:
    """Read ``{label: …, …, missing: ["?"], order: {size: [small, large]}, day_first: [born]}``, or a project file."""
    whole = read_mapping(path, error=RoleError)
    content = dict(part_of(whole, "roles", where=path.name))
    missing = content.pop("missing", []) if MARK not in whole else (whole.get("reading") or {}).get("missing", [])
    notation = _read_notation(whole.get("reading") or {} if MARK in whole else content, where=path.name)
    for how in NOTATIONS:
        content.pop(how, None)
    if isinstance(missing, str):
        missing = [missing]
    if not isinstance(missing, list) or not all(isinstance(text, str) for text in missing):
        raise RoleError(f"{path.name}: missing must be a list of texts")
    order = _read_order(content.pop("order", None) or {}, where=path.name)
    return RolesFile(
        roles=Roles.from_mapping(content, where=path.name), missing=tuple(missing), order=order, notation=notation
    )


def _read_notation(content: Mapping[str, Any], *, where: str) -> Notation:
    read = {}
    for how in NOTATIONS:
        columns = content.get(how) or []
        if isinstance(columns, str):
            columns = [columns]
        if not isinstance(columns, list) or not all(isinstance(column, str) for column in columns):
            raise RoleError(f"{where}: {how} must be a list of column names")
        read[how] = tuple(columns)
    try:
        return Notation(**read)
    except DataError as error:
        raise RoleError(f"{where}: {error}") from None


def _read_order(order: Any, *, where: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(order, Mapping) or not all(isinstance(values, list) for values in order.values()):
        raise RoleError(f"{where}: order gives each column its values from the lowest on: {{size: [small, large]}}")
    read = {}
    for column, values in order.items():
        texts = tuple(str(value) for value in values)
        if len(set(texts)) < len(texts) or len(texts) < 2:
            raise RoleError(f"{where}: the order of {str(column)!r} needs at least two values, each once")
        read[str(column)] = texts
    return read
