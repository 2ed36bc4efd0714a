"""What a release for a request keeps to: the columns that are asked for, and what an expert approved it under.

Whoever provides a product may change its policy and the roles of its columns. An approval is not carried over to less
than it was given for: a release for the request must satisfy the policy of that day too, as far as its certificate
measured, or an expert decides anew.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from aegis.catalog.database.tables import Product, Request
from aegis.catalog.service.present_policy import objections
from aegis.data.schema import Role
from aegis.errors import VerificationError
from aegis.operation import word


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


def terms_of(product: Product) -> dict[str, Any]:
    """Policy, columns and label as they stand, for the record of an approval."""
    columns = [{part: column[part] for part in ("name", "kind", "role")} for column in product.columns]
    return {"policy": product.policy, "columns": columns, "label": product.label}


def check_terms(request: Request, product: Product, certificate: Mapping[str, Any]) -> None:
    """Raise unless a release satisfies what its request was approved under, where that is not what holds now."""
    approved = request.approved_under
    if approved is None or approved == terms_of(product):  # approvals of earlier versions do not say
        return
    as_approved = Product(policy=approved["policy"], columns=approved["columns"], label=approved["label"])
    against = objections(certificate, as_approved)
    if against:
        raise VerificationError(
            f"the request was approved under another policy or other roles, and by those: {'; '.join(against)}; revoke "
            "it and let it be asked for again, so that an expert decides under the present ones"
        )
