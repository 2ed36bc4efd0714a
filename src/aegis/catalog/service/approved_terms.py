"""What an expert approved a request under: the policy, and the roles of the columns.

Whoever provides a product may change both. An approval is not carried over to less than it was given for: a release
for the request must satisfy the policy of that day too, as far as its certificate measured, or an expert decides anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aegis.catalog.database.tables import Product, Request
from aegis.catalog.service.present_policy import objections
from aegis.errors import VerificationError


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
