"""A verified release under a policy that was changed later: what is claimed of it, and what is not."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace
from typing import Any

import pytest

from aegis.catalog.records import Standing
from aegis.catalog.service import audit_log, metadata, products, releases, seen_requests
from aegis.catalog.service.certificates import present_policy
from aegis.catalog.states import ReleaseState, RequestState
from aegis.catalog.worker.loop import run_pending
from aegis.errors import ConflictError
from aegis.library import clinic

Stage = Any
OLD = json.loads(json.dumps(dict(clinic.POLICY)))


def _tighten(stage: Stage, **changes: Any) -> None:
    with stage.write("provider") as work:
        now = products.product(work, product="clinic")
        products.change(work, product="clinic", version=now.version, policy={**OLD, **changes})


@pytest.fixture
def served(small_stage: Stage) -> Stage:
    small_stage.product()
    small_stage.asked, small_stage.pushed = small_stage.provisioned()
    return small_stage


def _seen(stage: Stage, by: str = "consumer") -> Any:
    with stage.read(by) as work:
        return releases.release(work, release_id=stage.pushed.id)


def test_a_tightened_policy_marks_what_was_released_before(served: Stage) -> None:
    assert _seen(served).present_policy.standing is Standing.SATISFIED
    smallest = served.pushed.certificate["smallest_class"]
    _tighten(served, k=smallest + 1)
    found = _seen(served)
    assert found.state is ReleaseState.VERIFIED  # under the policy of its certificate it still is
    assert found.present_policy.standing is Standing.NOT_SATISFIED
    assert f"at least {smallest + 1} asked, found {smallest}" in found.present_policy.said
    with served.read("consumer") as work:
        assert releases.list_releases(work, product="clinic").items[0].present_policy == found.present_policy
        document = metadata.croissant(work, product="clinic", base_url="https://c")
    assert document["distribution"][0]["aegis:presentPolicy"] == "not satisfied"
    _tighten(served, k=smallest)  # as strict as what was measured allows
    assert _seen(served).present_policy.standing is Standing.SATISFIED


def test_it_is_not_given_to_another_request(served: Stage) -> None:
    _tighten(served, k=10_000)
    with served.read("expert") as work:
        strict = seen_requests.request(work, request_id=served.asked.id).configuration_id
    another = served.ask()
    served.approve(another.id, strict)
    with pytest.raises(ConflictError, match="not the product's present one"), served.write("provider") as work:
        releases.fulfil(work, request_id=another.id, release_id=served.pushed.id)


def test_a_download_says_on_the_record_how_it_stood(served: Stage) -> None:
    _tighten(served, k=10_000)
    with served.write("consumer") as work:
        opened = releases.open_download(work, release_id=served.pushed.id)
    opened.stream.close()
    assert opened.release.present_policy.standing is Standing.NOT_SATISFIED
    with served.read("admin") as work:
        newest = audit_log.list_audit(work).items[0]
    assert (newest.action, newest.details["present_policy"]) == ("release downloaded", "not satisfied")


def test_a_policy_that_changes_while_a_release_waits_keeps_it_out(small_stage: Stage) -> None:
    small_stage.product()
    made = small_stage.configurations()
    asked = small_stage.ask()
    small_stage.approve(asked.id, made["strict"].id)
    small_stage.pushed = small_stage.push(request_id=asked.id)
    _tighten(small_stage, k=10_000)
    run_pending(small_stage.catalog)
    found = _seen(small_stage, by="provider")
    assert found.state is ReleaseState.REFUSED
    assert "changed meanwhile" in str(found.reason)
    with small_stage.read("consumer") as work:
        assert seen_requests.request(work, request_id=asked.id).state is RequestState.APPROVED


@pytest.fixture(scope="session")
def certificate(parts: Any) -> dict[str, Any]:
    """Of the clinic under its policy: k 5, 2 diagnoses, four quasi-identifiers; nothing was suppressed."""
    content: dict[str, Any] = json.loads(parts.released["everything-hidden"][1])
    assert content["suppressed"]["records"] == 0
    return content


def _standing(
    parts: Any, certificate: Any, *, roles: dict[str, str] | None = None, **changes: Any
) -> tuple[Standing, str]:
    columns = [{**column, "role": (roles or {}).get(column["name"], column["role"])} for column in parts.columns]
    product: Any = SimpleNamespace(columns=columns, label="health", policy={**OLD, **changes})
    found = present_policy(certificate, product)
    return found.standing, found.said


QUASI = ["age", "weight", "zip", "gender"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Standing.SATISFIED),
        ({"k": 2}, Standing.SATISFIED),
        ({"max_suppression": 0}, Standing.SATISFIED),
        ({"l": {"diagnosis": {"kind": "distinct", "l": 50}}}, Standing.NOT_SATISFIED),
        ({"l": {"diagnosis": {"kind": "entropy", "l": 2}}}, Standing.NOT_KNOWN),
        ({"t": {"diagnosis": 0.2}}, Standing.NOT_KNOWN),
        ({"k": 10_000, "t": {"diagnosis": 0.2}}, Standing.NOT_SATISFIED),
        ({"quasi_identifying": [*QUASI, "ward"]}, Standing.NOT_KNOWN),
        ({"quasi_identifying": [*QUASI, "ward"], "k": 10_000}, Standing.NOT_SATISFIED),
        ({"quasi_identifying": ["age", "zip"]}, Standing.SATISFIED),
        ({"quasi_identifying": ["age", "ward"]}, Standing.NOT_KNOWN),
    ],
)
def test_what_was_measured_decides_where_it_can(
    parts: Any, certificate: Any, changes: dict[str, Any], expected: Standing
) -> None:
    roles = dict.fromkeys(QUASI, "insensitive") if "quasi_identifying" in changes else {}
    standing, said = _standing(parts, certificate, roles=roles, **changes)
    assert standing is expected, said


def test_suppression_beyond_the_present_limit_is_seen(parts: Any, certificate: Any) -> None:
    changed = copy.deepcopy(certificate)
    changed["suppressed"]["records"] = 30
    assert _standing(parts, changed, k=2)[0] is Standing.SATISFIED
    standing, said = _standing(parts, changed, max_suppression=0.01)
    assert standing is Standing.NOT_SATISFIED
    assert "30 of 1500" in said
    standing, said = _standing(parts, changed, suppressed="dropped")
    assert standing is Standing.NOT_KNOWN
    assert "suppressed records" in said


def test_a_column_that_identifies_by_now_is_seen(parts: Any, certificate: Any) -> None:
    standing, said = _standing(parts, certificate, roles={"ward": "identifying"})
    assert standing is Standing.NOT_SATISFIED
    assert "ward" in said


def test_a_product_without_a_policy_or_the_columns_claims_nothing(parts: Any, certificate: Any) -> None:
    nothing: Any = SimpleNamespace(columns=parts.columns, label="health", policy=None)
    assert present_policy(certificate, nothing).standing is Standing.NOT_KNOWN
    fewer = [column for column in parts.columns if column["name"] not in ("ward", "zip")]
    product: Any = SimpleNamespace(
        columns=fewer, label="health", policy={**OLD, "quasi_identifying": ["age", "weight", "gender"]}
    )
    assert present_policy(certificate, product).standing is Standing.NOT_KNOWN
    assert present_policy({}, nothing).standing is Standing.NOT_KNOWN
