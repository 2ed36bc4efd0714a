"""Several attacks, one after the other, on one scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aegis.attacks.attack import ATTACKS, Attack, AttackResult, NotApplicable
from aegis.attacks.scene import Scene
from aegis.progress import Progress


def chosen_attacks(names: Sequence[str], scene: Scene) -> tuple[Attack, ...]:
    """The named attacks; without names all that this scene has a use for."""
    if names:
        return tuple(ATTACKS[name] for name in dict.fromkeys(names))
    return tuple(method for _, method in ATTACKS.items() if scene.people is not None or not method.needs_original)


def run_attacks(
    attacks: Sequence[Attack],
    scene: Scene,
    *,
    limits: Mapping[str, float] | None = None,
    progress: Progress | None = None,
) -> tuple[AttackResult, ...]:
    """Run each attack; one that works on single releases is run on each, and answers with the worst.

    Attacks that read off groups are also run on all releases, linked row by row: groups are smaller there.
    """
    results = []
    for number, method in enumerate(_knowing_too(attacks, scene.told)):
        if progress is not None:
            progress(number, len(attacks), method.name)
        results.append(_result(method, scene, (limits or {}).get(method.name)))
    if progress is not None:
        progress(len(attacks), len(attacks), "done")
    return tuple(results)


def _knowing_too(attacks: Sequence[Attack], told: Sequence[str]) -> tuple[Attack, ...]:
    """The attacks, saying that whoever knows quasi-identifiers knows what they tell."""
    if not told:
        return tuple(attacks)
    too = f"quasi-identifiers (and what they tell: {', '.join(told)})"
    return tuple(replace(method, knows=method.knows.replace("quasi-identifiers", too, 1)) for method in attacks)


def _result(method: Attack, scene: Scene, limit: float | None) -> AttackResult:
    names = tuple(release.name for release in scene.releases)
    seen = len(names) if method.together or method.linked else 1
    if len(names) < method.least_releases:
        too_few = NotApplicable(reason="there is one release only")
        return AttackResult.of(method, too_few, releases=names, releases_seen=seen, limit=limit)
    if method.together:
        return AttackResult.of(method, method.run(scene), releases=names, releases_seen=seen, limit=limit)
    answers = [
        AttackResult.of(
            method, method.run(scene.of_one(release)), releases=(release.name,), releases_seen=seen, limit=limit
        )
        for release in scene.releases
    ]
    if method.linked and len(names) > 1:
        linked = method.run(scene.linked())
        answers.append(AttackResult.of(method, linked, releases=names, releases_seen=seen, limit=limit))
    return max(answers, key=lambda answer: (answer.not_applicable is None, answer.exposed_share, answer.right or 0))
