"""Who gets the table decides what must hold."""

from __future__ import annotations

import pytest

from aegis.commands.start import PURPOSE_NAMES
from aegis.data.schema import Roles
from aegis.errors import RoleError
from aegis.library.guided.deciding import PURPOSES, USUAL, k_in_words, policy_for
from aegis.privacy.policy import Policy

ROLES = Roles(label="y", quasi_identifying=("age", "zip"), sensitive=("illness", "rich"))


def test_the_command_names_every_purpose() -> None:
    assert tuple(PURPOSES) == PURPOSE_NAMES
    assert USUAL in PURPOSES


@pytest.mark.parametrize("name", PURPOSES)
def test_a_purpose_is_a_policy_that_can_be_read(name: str) -> None:
    policy = Policy.from_mapping(policy_for(name, ROLES, distinct={"illness": 6, "rich": 2}))
    assert policy.roles.quasi_identifying == ("age", "zip")


def test_the_more_open_the_more_is_asked() -> None:
    purposes = [PURPOSES[name] for name in ("internal", "partner", "public")]
    assert [each.k for each in purposes] == sorted(each.k for each in purposes)
    assert [each.diversity for each in purposes] == sorted(each.diversity for each in purposes)
    assert 1 / PURPOSES["public"].k < 0.091


def test_no_group_is_asked_for_more_values_than_there_are() -> None:
    asked = policy_for("public", ROLES, distinct={"illness": 6, "rich": 2})["l"]
    assert {name: each["l"] for name, each in asked.items()} == {"illness": 3, "rich": 2}


def test_a_k_of_ones_own_goes_first() -> None:
    assert policy_for("public", ROLES, distinct={}, k=20)["k"] == 20


def test_without_quasi_identifiers_nothing_is_promised() -> None:
    with pytest.raises(RoleError, match="--quasi"):
        policy_for("public", Roles(label="y"), distinct={})


def test_k_is_said_in_words() -> None:
    assert (
        k_in_words(7, ("age",))
        == "whoever knows the age of somebody finds at least 7 rows that look the same, never fewer"
    )
    assert "people" in k_in_words(7, ("age",), unit="patient")
    assert k_in_words(1, ("age",)).startswith("nothing")
