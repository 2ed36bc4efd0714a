"""The columns that a request asks for, held against those of a release."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from aegis.catalog.database.tables import Product, Request
from aegis.data.schema import Role
from aegis.data.shell import word
from aegis.errors import VerificationError


def check_columns(released: Sequence[str], request: Request, product: Product) -> None:
    """Raise if a released table has columns that the request did not ask for."""
    if asks_for_all(request.columns, product):
        return
    more = [name for name in released if name not in request.columns]
    if more:
        names = [column["name"] for column in product.columns if column["name"] in request.columns]
        raise VerificationError(
            f"the release has columns that the request does not ask for ({', '.join(more)}); release again with "
            f"--columns {column_list(names)}"
        )


def asks_for_all(columns: Collection[str], product: Product) -> bool:
    """Whether a request names everything that does not identify people."""
    return {column["name"] for column in product.columns if column["role"] != Role.IDENTIFYING} <= set(columns)


def column_list(columns: Sequence[str]) -> str:
    """The columns as ``--columns`` takes them from a shell.

    >>> column_list(["age", "zip"]), column_list(["blood type", "age"])
    ('age,zip', "'blood type,age'")
    """
    return word(",".join(columns))
