"""An approval is for the policy and the roles of its day: less than that needs another decision."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aegis.catalog.database.tables import Product, Request
from aegis.catalog.service import products
from aegis.catalog.service.certificates import check_terms, terms_of
from aegis.errors import VerificationError
from aegis.library import clinic
from aegis.privacy.policy import Policy
from aegis.releases.certificate import Certificate

LOOSE = {**{part: value for part, value in clinic.POLICY.items() if part != "l"}, "k": 2}


def certificate(parts: Any, policy: dict[str, Any]) -> dict[str, Any]:
    """The provider's, as it would be under another policy: what is not asked for is not measured."""
    content = json.loads(parts.released["strict"][1])
    content.pop("certificate_sha256")
    asked = Policy.from_mapping(policy)
    names = {model.name for model in asked.models}
    content["policy"], content["policy_id"] = asked.to_mapping(), asked.id
    content["verdicts"] = [verdict for verdict in content["verdicts"] if verdict["name"] in names]
    return content


def described(parts: Any, policy: dict[str, Any], **roles: str) -> Product:
    columns = [{**column, "role": roles.get(column["name"], column["role"])} for column in parts.columns]
    return Product(policy=Policy.from_mapping(policy).to_mapping(), columns=columns, label="health")


def test_a_looser_policy_does_not_inherit_an_approval(small_stage: Any) -> None:
    stage = small_stage
    stage.product()
    made = stage.configurations()
    request = stage.ask()
    stage.approve(request.id, made["strict"].id)
    with stage.write("provider") as work:
        version = products.product(work, product="clinic").version
        products.change(work, product="clinic", version=version, policy=LOOSE)
    forged = Certificate(content=certificate(stage.parts, LOOSE)).to_json().encode()
    with pytest.raises(VerificationError, match="approved under another policy or other roles"):
        stage.push(request_id=request.id, certificate=forged)


def test_what_the_release_satisfies_all_the_same_needs_no_other_decision(parts: Any) -> None:
    then = described(parts, dict(clinic.POLICY))
    request = Request(approved_under=terms_of(then))
    check_terms(request, then, certificate(parts, dict(clinic.POLICY)))
    looser = {**clinic.POLICY, "k": 4}
    check_terms(request, described(parts, looser), certificate(parts, looser))
    check_terms(Request(approved_under=None), described(parts, LOOSE), certificate(parts, LOOSE))


def test_a_column_that_identified_when_it_was_approved_does_so_still(parts: Any) -> None:
    request = Request(approved_under=terms_of(described(parts, dict(clinic.POLICY))))
    fewer = {**clinic.POLICY, "quasi_identifying": ["age", "weight", "gender"]}
    content = certificate(parts, fewer)
    content["roles"]["quasi_identifying"] = fewer["quasi_identifying"]
    with pytest.raises(VerificationError, match="other columns were quasi-identifying"):
        check_terms(request, described(parts, fewer, zip="insensitive"), content)
