"""What a later policy may not take back, key by key; that a release is refused for it is tested beside the ledger."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from aegis.errors import LedgerError
from aegis.library.ledgers.earlier_promises import check_promises
from aegis.privacy.policy import Policy, Recipients
from aegis.releases.ledger_entry import RecordedRelease

POLICY: dict[str, Any] = {"quasi_identifying": ["age", "zip"], "sensitive": ["ill"], "k": 5}
UNJUDGED = {"max_suppression": 0.1, "suppressed": "exempt"}
DROPPED = {"max_suppression": 0.1, "suppressed": "dropped"}


def _check(earlier: dict[str, Any], later: dict[str, Any]) -> None:
    policy = Policy.from_mapping({**POLICY, **later})
    recorded = RecordedRelease(
        name="first.csv", kind="masks", policy=Policy.from_mapping({**POLICY, **earlier}).to_mapping()
    )
    check_promises({2: recorded}, policy, policy.roles, published=["name", "age", "zip", "ill"])


@pytest.mark.parametrize(
    ("earlier", "later", "said"),
    [
        ({}, UNJUDGED, r"judges every record .* lets 10% be suppressed that no model judges \(suppressed: exempt\)"),
        ({}, DROPPED, r"judges every record that is suppressed .* \(suppressed: dropped\)"),
        ({"max_suppression": 0.5}, UNJUDGED, "judges every record that is suppressed"),
        (UNJUDGED, {**UNJUDGED, "max_suppression": 0.2}, "at most 10% of the records go unjudged"),
        (UNJUDGED, {**DROPPED, "max_suppression": 0.2}, "at most 10% of the records go unjudged"),
        (DROPPED, UNJUDGED, r"leaves suppressed records out \(suppressed: dropped\)"),
        ({"attacks": {"prosecutor": 0.1}}, {}, "prosecutor exposes at most 10% .* sets no limit"),
        ({"attacks": {"prosecutor": 0.1}}, {"attacks": {"marketer": 0}}, "prosecutor exposes .* sets no limit"),
        ({"attacks": {"prosecutor": 0}}, {"attacks": {"prosecutor": 0.5}}, "and this policy allows 50%"),
        ({"identifying": ["name"]}, {"insensitive": ["name"]}, "'name' was identifying"),
        ({"l": {"ill": 2}}, {}, "distinct-l-diversity of ill"),
        ({"k": 5}, {"k": 4}, "k-anonymity"),
    ],
)
def test_what_a_later_policy_takes_back_is_refused(earlier: dict[str, Any], later: dict[str, Any], said: str) -> None:
    with pytest.raises(LedgerError, match=said) as refused:
        _check(earlier, later)
    assert "entry 2 (first.csv)" in str(refused.value)
    assert "--despite-ledger" in str(refused.value)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({}, {"max_suppression": 0.5}),  # what is hidden is judged: hiding more takes nothing back
        ({"max_suppression": 0.1}, {"max_suppression": 0, "suppressed": "exempt"}),
        (UNJUDGED, UNJUDGED),
        (UNJUDGED, DROPPED),
        (UNJUDGED, {**UNJUDGED, "max_suppression": 0.05}),
        (UNJUDGED, {"max_suppression": 0.5, "suppressed": "judged"}),
        (DROPPED, {"max_suppression": 0.5, "suppressed": "judged"}),
        ({"attacks": {"prosecutor": 0.5}}, {"attacks": {"prosecutor": 0.5, "marketer": 0.9}}),
        ({"identifying": ["name"]}, {"identifying": ["name"]}),
        ({"identifying": ["name"]}, {"quasi_identifying": ["age", "zip", "name"]}),
        ({}, {"l": {"ill": 2}, "k": 6}),
    ],
)
def test_a_later_policy_may_be_as_strict_or_stricter(earlier: dict[str, Any], later: dict[str, Any]) -> None:
    _check(earlier, later)


@pytest.mark.parametrize(
    ("columns", "masks", "asked"),
    [
        (["age", "zip", "ill"], {}, True),
        (["age", "zip"], {}, False),
        (["age", "zip", "ill"], {"ill": "suppress"}, False),
    ],
)
def test_a_model_about_a_column_that_is_left_out_is_asked_where_somebody_has_it(
    columns: list[str], masks: dict[str, Any], asked: bool
) -> None:
    earlier = Policy.from_mapping({**POLICY, "l": {"ill": 2}}).to_mapping()
    configuration = {"aegis": 1, "name": "first", "masks": masks}
    recorded = RecordedRelease(
        name="first.csv", kind="masks", columns=tuple(columns), policy=earlier, configuration=configuration
    )
    policy = Policy.from_mapping(POLICY)
    told = (
        pytest.raises(LedgerError, match="'ill' is not in this release, but somebody has it")
        if asked
        else nullcontext()
    )
    with told:
        check_promises({2: recorded}, policy, policy.roles, published=["age", "zip"])


@pytest.mark.parametrize("role", ["identifying", "quasi_identifying", "sensitive"])
def test_a_role_that_came_from_a_roles_file_is_remembered(role: str) -> None:
    asked = {"quasi_identifying": ["age"], "k": 5}
    recorded = RecordedRelease(name="first.csv", kind="masks", policy=asked, roles={role: ["zip"]})
    assert RecordedRelease.from_mapping(recorded.to_mapping()) == recorded
    now = Policy.from_mapping({**asked, "insensitive": ["zip"]})
    with pytest.raises(LedgerError, match=f"'zip' was {role.replace('_', '-')} when entry 2"):
        check_promises({2: recorded}, now, now.roles, published=["age", "zip"])
    check_promises({2: recorded}, now, now.roles, published=["age"])


@pytest.mark.parametrize(
    ("promised", "later", "counts"),
    [
        (Recipients.TOGETHER, Recipients.SEPARATE, True),
        (Recipients.TOGETHER, Recipients.TOGETHER, True),
        (Recipients.SEPARATE, Recipients.TOGETHER, True),
        (Recipients.SEPARATE, Recipients.SEPARATE, False),
    ],
)
def test_what_left_for_whoever_colludes_counts_for_everybody(
    promised: Recipients, later: Recipients, counts: bool
) -> None:
    recorded = RecordedRelease(name="first.csv", kind="masks", recipient="ana", recipients=promised)
    assert recorded.held_by("bob", later) is counts
    assert recorded.held_by("ana", later)
    assert recorded.is_held_as("bob") is (promised is Recipients.TOGETHER)
