"""Columns from a file that is there already: what ``aegis inspect --json`` printed, or a roles file.

Neither holds a value of the table. A role that `inspect` only suggests is none: somebody has to choose it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aegis.catalog.service.checks import checked_line, parsed_document
from aegis.catalog.service.schema import MOST_COLUMNS
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import InputError

MOST_BYTES = 1 << 20
_MOST_PARTS = 20_000
_WHAT = "the file"


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedColumn:
    """A column as a file names it; ``kind`` and ``role`` are empty where it says none, ``suggested`` is a guess."""

    name: str
    kind: str = ""
    role: str = ""
    suggested: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """The name of the table, if the file tells it, and its columns."""

    name: str
    columns: tuple[InspectedColumn, ...]


def read_inspected(content: bytes) -> Inspected:
    """The columns that a file names; `InputError` where it is neither of the two kinds of file."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not text; send what aegis inspect --json printed, or a roles file") from None
    document = parsed_document(text, what=_WHAT, most_characters=MOST_BYTES, most_parts=_MOST_PARTS)
    if not isinstance(document, Mapping):
        raise _neither()
    if isinstance(document.get("columns"), list):
        columns = [_inspected(each) for each in document["columns"]]
        name = document.get("name")
    else:
        columns, name = list(_by_role(document)), None
    names = [column.name for column in columns]
    if not 1 <= len(names) <= MOST_COLUMNS:
        raise InputError(f"the file must name 1 to {MOST_COLUMNS} columns")
    if len(set(names)) < len(names):
        raise InputError("the file names a column twice; take one of them out")
    return Inspected(name=name if isinstance(name, str) else "", columns=tuple(columns))


def _inspected(entry: Any) -> InspectedColumn:
    if not isinstance(entry, Mapping):
        raise _neither()
    kinds, roles = {kind.value for kind in Kind}, {role.value for role in Role}
    kind, role, suggested = entry.get("kind"), entry.get("role"), entry.get("suggested_role")
    if kind not in kinds or role not in roles | {None}:
        raise InputError("the file has a column of a kind or role that does not exist; inspect the table again")
    return InspectedColumn(
        name=checked_line(entry.get("name"), what="the name of a column", most=200),
        kind=str(kind),
        role=str(role or ""),
        suggested=str(suggested) if role is None and suggested in roles else "",
    )


def _by_role(document: Mapping[Any, Any]) -> Iterable[InspectedColumn]:
    roles = {role.value for role in Role}
    if not document or not set(document) <= roles:
        raise _neither()
    for role, named in document.items():
        listed = [named] if isinstance(named, str) else named
        if not isinstance(listed, list):
            raise _neither()
        for name in listed:
            yield InspectedColumn(name=checked_line(name, what="the name of a column", most=200), role=str(role))


def _neither() -> InputError:
    return InputError("the file is neither what aegis inspect --json printed nor a roles file; send one of them")
