"""What the columns of the catalog's tables are made of: random ids, moments in UTC, JSON documents."""

from __future__ import annotations

import datetime
import uuid
from typing import Any, ClassVar

from sqlalchemy import JSON, DateTime, ForeignKey, String, Text, TypeDecorator
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

ID_LENGTH = 32


def new_id() -> str:
    """A fresh id: 32 hexadecimal digits, drawn at random."""
    return uuid.uuid4().hex


class UtcTime(TypeDecorator[datetime.datetime]):
    """A moment: stored in UTC, aware of it when it is read back, also where the database knows no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime.datetime | None, dialect: Dialect) -> datetime.datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a time zone cannot be stored")
        value = value.astimezone(datetime.UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime.datetime | None, dialect: Dialect) -> datetime.datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value.astimezone(datetime.UTC)


class Table(DeclarativeBase):
    """The root of the mapped classes."""

    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime.datetime: UtcTime(),
        dict[str, Any]: JSON(none_as_null=True),
        list[Any]: JSON(none_as_null=True),
        str: Text(),
    }


def id_column() -> Mapped[str]:
    return mapped_column(String(ID_LENGTH), primary_key=True, default=new_id)


def of_table(target: str, *, nullable: bool = False, index: bool = False) -> Mapped[Any]:
    return mapped_column(String(ID_LENGTH), ForeignKey(target), nullable=nullable, index=index)
