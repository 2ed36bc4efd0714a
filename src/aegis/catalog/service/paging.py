"""Long lists a page at a time, from where the last one ended: cheap at any depth, and nothing is skipped."""

from __future__ import annotations

import base64
import binascii
import datetime
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Integer, Select, bindparam, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from aegis.catalog.database.tables import Table, UtcTime
from aegis.catalog.records import Page
from aegis.errors import InputError

DEFAULT_SIZE, MOST = 50, 200
T = TypeVar("T")
Keys = tuple[InstrumentedAttribute[Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """How many items, and from which cursor on."""

    size: int = DEFAULT_SIZE
    cursor: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or not isinstance(self.size, int) or not 1 <= self.size <= MOST:
            raise InputError(f"a page has 1 to {MOST} items; choose a page size between them")


FIRST = PageRequest()


def page_of(
    session: Session,
    query: Select[*tuple[Any, ...]],
    view: Callable[..., T],
    *,
    keys: Keys,
    page: PageRequest,
    descending: bool = False,
) -> Page[T]:
    """A page of the query, ordered by ``keys``; ``view`` makes a record of what stands in a row.

    The keys are unique together and belong to the entity that the query selects first.
    """
    paged = paged_query(query, keys=keys, continued=page.cursor is not None, descending=descending)
    return read_page(session, paged, {}, lambda row: view(*row), keys=keys, page=page)


def paged_query(
    query: Select[*tuple[Any, ...]], *, keys: Keys, continued: bool, descending: bool = False
) -> Select[*tuple[Any, ...]]:
    """A query for any page, of the first or of later ones; which one, `read_page` says."""
    if continued:
        after = tuple_(*(bindparam(f"after_{key.key}", type_=key.type) for key in keys))
        bound: ColumnElement[bool] = tuple_(*keys) < after if descending else tuple_(*keys) > after
        query = query.where(bound)
    ordered = query.order_by(*(key.desc() if descending else key.asc() for key in keys))
    return ordered.limit(bindparam("most_rows", type_=Integer()))


def read_page(
    session: Session,
    paged: Select[*tuple[Any, ...]],
    values: Mapping[str, Any],
    view: Callable[[Any], T],
    *,
    keys: Keys,
    page: PageRequest,
) -> Page[T]:
    """A page of what `paged_query` made, whose other parameters are ``values``; ``view`` makes a record of a row."""
    after = () if page.cursor is None else _decode(page.cursor, keys)
    after_values = {f"after_{key.key}": value for key, value in zip(keys, after, strict=False)}
    # One row more than is shown says whether there is another page.
    rows = session.execute(paged, {**values, "most_rows": page.size + 1, **after_values}).all()
    shown = rows[: page.size]
    cursor = _encode([_key_of(shown[-1], key) for key in keys]) if len(rows) > len(shown) else None
    return Page(items=tuple(view(row) for row in shown), next=cursor)


def _key_of(row: Any, key: InstrumentedAttribute[Any]) -> Any:
    """The value of a key in a row of plain columns, or in the object that a row begins with."""
    return getattr(row[0] if isinstance(row[0], Table) else row, key.key)


def _encode(values: list[Any]) -> str:
    plain = [value.isoformat() if isinstance(value, datetime.datetime) else value for value in values]
    return base64.urlsafe_b64encode(json.dumps(plain).encode()).decode().rstrip("=")


def _decode(cursor: str, keys: Keys) -> tuple[Any, ...]:
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        return tuple(_typed(value, key) for value, key in zip(values, keys, strict=True))
    except (ValueError, TypeError, binascii.Error, UnicodeError, RecursionError, OverflowError):
        raise InputError("the cursor is not one that a page gave; start from the first page") from None


def _typed(value: Any, key: InstrumentedAttribute[Any]) -> Any:
    if isinstance(key.type, UtcTime):
        moment = datetime.datetime.fromisoformat(value)
        if moment.tzinfo is None:
            raise ValueError
        return moment.astimezone(datetime.UTC)
    if not isinstance(value, key.type.python_type) or isinstance(value, bool):
        raise TypeError
    if isinstance(value, int) and abs(value) >= 2**62:
        raise ValueError
    if isinstance(value, str):
        value.encode()
        if "\0" in value:
            raise ValueError
    return value
