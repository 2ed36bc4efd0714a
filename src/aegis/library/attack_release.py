"""Attacks on a release before it leaves: those that its policy limits, and those that are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.schema import Roles
from aegis.errors import OptionError, PolicyNotSatisfiedError
from aegis.masking.mask import Mask
from aegis.privacy.policy import Policy

if TYPE_CHECKING:
    from aegis.attacks.attack import AttackResult


def attacks_wanted(named: Sequence[str], policy: Policy) -> tuple[str, ...]:
    """The attacks to run on one release: those named, and those that the policy limits."""
    if not named and not policy.attacks:
        return ()
    from aegis.attacks.attack import ATTACKS  # compiled loops and learners, which most releases do without
    from aegis.library.attack import limits_of

    for name in named:
        if ATTACKS[name].least_releases > 1:
            raise OptionError(f"the attack {name!r} needs several releases; run it with: aegis attack")
    limited = [name for name in limits_of(policy) if ATTACKS[name].least_releases == 1]
    return tuple(dict.fromkeys((*named, *limited)))


def attack_draft(
    written: Dataset,
    original: Dataset,
    *,
    attacks: Sequence[str],
    masks: Mapping[str, Mask],
    roles: Roles,
    policy: Policy,
) -> tuple[AttackResult, ...]:
    """Attack a table as it was written; `PolicyNotSatisfiedError` where a limit of the policy is exceeded."""
    if not attacks:
        return ()
    from aegis.attacks.attack import ATTACKS
    from aegis.attacks.campaign import run_attacks
    from aegis.attacks.hidden import starred_rows, with_hidden
    from aegis.attacks.scene import Scene
    from aegis.library.attack import limits_of
    from aegis.library.attack_scene import held_release, people_of

    people = people_of(original)
    release = held_release(written.name, ask(written.table), people, masks=masks)
    view, people = with_hidden(
        "1",
        release.view,
        people,
        starred=starred_rows(release.texts, roles.quasi_identifying),
        known=roles.quasi_identifying,
        masks=masks,
    )
    scene = Scene(releases=(replace(release, view=view),), people=people, roles=roles, policy=policy, unit=policy.unit)
    results = run_attacks([ATTACKS[name] for name in attacks], scene, limits=limits_of(policy))
    exceeded = [result for result in results if result.exceeded]
    if exceeded:
        sentences = "; ".join(
            f"{result.name} exposes {100 * result.exposed_share:.2f} % of the people and "
            f"{100 * (result.limit or 0):g} % are allowed"
            for result in exceeded
        )
        raise PolicyNotSatisfiedError(f"nothing was released: {sentences}; mask more")
    return results


def as_certified(results: Sequence[AttackResult]) -> list[dict[str, object]]:
    """What a certificate says of attacks: counts and shares, one entry each."""
    return [
        {
            "name": result.name,
            "knows": result.knows,
            "people": result.people,
            "singled_out": result.singled_out,
            "right": result.right,
            "baseline": result.baseline,
            "interval": list(result.interval),
            "exposed_share": result.exposed_share,
            "limit": result.limit,
            "not_applicable": result.not_applicable,
        }
        for result in results
    ]
