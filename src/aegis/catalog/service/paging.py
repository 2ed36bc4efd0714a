"""Long lists a page at a time, from where the last one ended: cheap at any depth, and nothing is skipped."""

from __future__ import annotations

import base64
import binascii
import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, bindparam, tuple_
from sqlalchemy.orm import InstrumentedAttribute, Session

from aegis.catalog.database.tables import UtcTime
from aegis.errors import InputError

DEFAULT_SIZE, MOST = 50, 200


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
    *,
    keys: tuple[InstrumentedAttribute[Any], ...],
    page: PageRequest,
    descending: bool = False,
) -> tuple[list[Any], str | None]:
    """The rows of a page, ordered by ``keys``, and the cursor of the next.

    The keys are unique together and belong to the entity that the query selects first.
    """
    paged = paged_query(query, keys=keys, continued=page.cursor is not None, descending=descending)
    rows = list(session.execute(paged, page_values(page, keys=keys)).all())
    return cut(rows, page, last=lambda row: [getattr(row[0], key.key) for key in keys])


def paged_query(
    query: Select[*tuple[Any, ...]],
    *,
    keys: tuple[InstrumentedAttribute[Any], ...],
    continued: bool,
    descending: bool = False,
) -> Select[*tuple[Any, ...]]:
    """A query for any page, of the first or of later ones; which one, `page_values` say."""
    if continued:
        after = tuple_(*(bindparam(f"after_{key.key}", type_=key.type) for key in keys))
        bound: ColumnElement[bool] = tuple_(*keys) < after if descending else tuple_(*keys) > after
        query = query.where(bound)
    ordered = query.order_by(*(key.desc() if descending else key.asc() for key in keys))
    return ordered.limit(bindparam("most_rows", type_=Integer()))


def page_values(page: PageRequest, *, keys: tuple[InstrumentedAttribute[Any], ...]) -> dict[str, Any]:
    """What a paged query compares with: where this page begins, and one row more than it has."""
    after = () if page.cursor is None else _decode(page.cursor, keys)
    return {
        "most_rows": page.size + 1,
        **{f"after_{key.key}": value for key, value in zip(keys, after, strict=False)},
    }


def cut(rows: list[Any], page: PageRequest, *, last: Callable[[Any], list[Any]]) -> tuple[list[Any], str | None]:
    """The rows of a page without the one too many, and the cursor that it stands for; ``last`` gives a row's keys."""
    if len(rows) <= page.size:
        return rows, None
    return rows[: page.size], _encode(last(rows[page.size - 1]))


def _encode(values: list[Any]) -> str:
    plain = [value.isoformat() if isinstance(value, datetime.datetime) else value for value in values]
    return base64.urlsafe_b64encode(json.dumps(plain).encode()).decode().rstrip("=")


def _decode(cursor: str, keys: tuple[InstrumentedAttribute[Any], ...]) -> tuple[Any, ...]:
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
