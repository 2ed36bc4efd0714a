"""Attacks on a release before it leaves: those that its policy limits, and those that are asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.schema import Roles
from aegis.errors import OptionError, PolicyNotSatisfiedError
from aegis.inspection.telling import Tells, known_values
from aegis.masking.mask import Mask
from aegis.privacy.policy import Policy

if TYPE_CHECKING:
    from aegis.attacks.attack import AttackResult
    from aegis.library.ledgers.earlier_releases import EarlierReleases


def attacks_wanted(named: Sequence[str], policy: Policy, earlier: EarlierReleases | None = None) -> tuple[str, ...]:
    """The attacks to run on a release: those named, and those that the policy limits.

    Attacks on several releases are run where ``earlier`` says that something was released already.
    """
    if not named and not policy.attacks:
        return ()
    from aegis.attacks.attack import ATTACKS  # compiled loops and learners, which most releases do without

    several = earlier is not None and earlier.constrains
    for name in named:
        if ATTACKS[name].least_releases > 1 and not several:
            raise OptionError(
                f"the attack {name!r} needs several releases, and there is no earlier release that this one joins"
            )
    limited = [name for name in dict(policy.attacks) if several or ATTACKS[name].least_releases == 1]
    return tuple(dict.fromkeys((*named, *limited)))


def attack_draft(
    written: Dataset,
    original: Dataset,
    *,
    attacks: Sequence[str],
    masks: Mapping[str, Mask],
    roles: Roles,
    all_roles: Roles,
    policy: Policy,
    earlier: EarlierReleases | None = None,
    told: Sequence[Tells] = (),
) -> tuple[AttackResult, ...]:
    """Attack a table as it was written; `PolicyNotSatisfiedError` where a limit of the policy is exceeded.

    Attacks on several releases see earlier releases as well, and so do those that read off groups, unless that cannot
    be made again and the policy sets them no limit. ``roles`` are those of the columns that are written, ``all_roles``
    also of those that somebody may have from before. ``told`` are columns that quasi-identifiers tell.
    """
    if not attacks:
        return ()
    from aegis.attacks.attack import ATTACKS
    from aegis.attacks.campaign import run_attacks
    from aegis.attacks.scene import Scene
    from aegis.library.releasing.attack_scene import (
        held_release,
        not_made_again,
        people_of,
        releases_made_again,
        with_its_hidden,
    )

    people = people_of(original)
    held = held_release(written.name, ask(written.table), people, masks=masks)
    attacked, people = with_its_hidden(1, held, people, roles)
    too = known_values(told)
    scene = Scene(releases=(attacked,), people=people, roles=roles, policy=policy, unit=policy.unit, told=too)
    several = earlier is not None and earlier.constrains
    joint = [name for name in attacks if ATTACKS[name].least_releases > 1 or (several and ATTACKS[name].linked)]
    limits = dict(policy.attacks)
    unmade = not_made_again(earlier) if joint and earlier is not None else None
    if unmade is not None:
        _check_without(unmade, joint, limited=limits)
        joint = []
    alone = [ATTACKS[name] for name in attacks if name not in joint]
    results = run_attacks(alone, scene, limits=limits)
    if joint and earlier is not None:
        made_again, everybody = releases_made_again(earlier, people, roles=all_roles)
        both = replace(scene, releases=(*made_again, attacked), people=everybody, roles=all_roles)
        results = (*results, *run_attacks([ATTACKS[name] for name in joint], both, limits=limits))
    exceeded = [result for result in results if result.exceeded]
    if exceeded:
        sentences = "; ".join(
            f"{result.name} exposes {100 * result.exposed_share:.2f} % of the people and "
            f"{100 * (result.limit or 0):g} % are allowed"
            for result in exceeded
        )
        more = ", or release an earlier one again" if any(len(result.releases) > 1 for result in exceeded) else ""
        name_too = "".join(
            f"; {tells.other} {tells.as_known()}: name it quasi-identifying or mask it"
            for tells in told
            if tells.other in too
        )
        raise PolicyNotSatisfiedError(f"nothing was released: {sentences}; mask more{more}{name_too}")
    return results


def _check_without(unmade: str, attacks: Sequence[str], *, limited: Collection[str]) -> None:
    """Raise where attacks must see what an entry showed that cannot be made again: limited ones, and those on several.

    Others that were asked for are run on the new release alone, and their results name that one.
    """
    from aegis.attacks.attack import ATTACKS

    bounded = [name for name in attacks if name in limited]
    if bounded:
        raise PolicyNotSatisfiedError(
            f"nothing was released: the policy limits {', '.join(bounded)}, and what {unmade} showed cannot be made "
            "again to be attacked together with this one; run aegis attack on the files, and take the limit out of the "
            "policy if that holds"
        )
    for name in attacks:
        if ATTACKS[name].least_releases > 1:
            raise OptionError(
                f"the attack {name!r} needs earlier releases, and what {unmade} showed cannot be made again; leave "
                "it out, "
                "and run aegis attack on the files"
            )


def as_certified(results: Sequence[AttackResult]) -> list[dict[str, object]]:
    """What a certificate says of attacks: counts and shares, one entry each.

    ``releases_seen`` is 1 where an attack was run on the table alone, and more where also on what was out already.
    """
    return [
        {
            "name": result.name,
            "knows": result.knows,
            "releases_seen": result.releases_seen,
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
