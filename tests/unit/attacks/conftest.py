"""Small tables that attacks are tried on: people, and what was released of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest

from aegis.attacks.attack import ATTACKS, AttackResult, run_attacks
from aegis.attacks.scene import Scene
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.library.releasing.attack_scene import held_release, people_of, with_its_hidden
from aegis.masking.configuration import build_mask
from aegis.privacy.policy import Policy

Staged = Callable[..., Scene]
ROLES = Roles(identifying=("name",), quasi_identifying=("age", "zip"), sensitive=("illness",))
Table = Mapping[str, Sequence[Any]]


def staged(
    original: Table,
    *releases: Table,
    masks: Sequence[Mapping[str, Any]] = (),
    roles: Roles = ROLES,
    policy: Mapping[str, Any] | None = None,
) -> Scene:
    """The scene of an original and releases, each with the masks that are known of it."""
    people = people_of(open_dataset(pa.table(dict(original))))
    held = []
    for number, release in enumerate(releases):
        specs = masks[number] if masks else {}
        built = {column: build_mask(spec) for column, spec in specs.items()}
        made = held_release(f"release-{number}", pa.table(dict(release)), people, masks=built)
        made, people = with_its_hidden(number, made, people, roles)
        held.append(made)
    rules = None if policy is None else Policy.from_mapping(policy)
    return Scene(releases=tuple(held), people=people, roles=roles, policy=rules)


def found_by(name: str, scene: Scene, *, limit: float | None = None) -> AttackResult:
    """What one attack finds."""
    (result,) = run_attacks([ATTACKS[name]], scene, limits={} if limit is None else {name: limit})
    return result


@pytest.fixture
def stage() -> Staged:
    return staged


@pytest.fixture
def find() -> Callable[..., AttackResult]:
    return found_by
