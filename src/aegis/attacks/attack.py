"""What an attack is: somebody with stated knowledge, who makes claims about people that are counted and checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from aegis.arrays import Codes
from aegis.attacks.scene import Scene
from aegis.attacks.view import View
from aegis.errors import OptionError
from aegis.progress import Progress
from aegis.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What came of an attack.

    ``people`` were attacked, about ``singled_out`` of them the attacker claims something, ``right`` claims are true
    (None where nobody can tell), and ``baseline`` is the share that would be right without the release.
    """

    people: int
    singled_out: int
    right: int | None
    baseline: float
    details: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of_rows(
        cls, scene: Scene, view: View, *, people: Codes, rows: Codes, details: Mapping[str, float] | None = None
    ) -> Claims:
        """That each of these ``people`` has the row of ``view`` at the same place of ``rows``."""
        everybody = scene.truth.count
        return cls(
            people=everybody,
            singled_out=len(np.unique(people)),
            right=int(scene.whole(view).fits(people, rows).sum()),
            baseline=1 / max(everybody, 1),
            details=details or {},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApplicable:
    """Why an attack has nothing to work on here."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """An attack by name.

    Args:
        knows: what the attacker knows and does, in a sentence.
        run: makes the claims.
        together: whether it works on all releases at once; otherwise it is run on each.
        linked: whether one that is run on each release is also run on all of them, linked row by row.
        least_releases: how many releases it needs.
        needs_original: whether nothing can be said without the true table.
        cheap: whether it takes a moment even on large tables, so that the catalog runs it on arrival.
        statistical: whether single claims may be right by chance, so that only what exceeds it counts.
    """

    name: str
    knows: str
    run: Callable[[Scene], Claims | NotApplicable]
    together: bool = False
    linked: bool = False
    least_releases: int = 1
    needs_original: bool = True
    cheap: bool = False
    statistical: bool = False


ATTACKS: Registry[Attack] = Registry("attacks", noun="attack", error=OptionError, package="aegis.attacks.methods")
"""The attacks by name."""


def attack(
    name: str,
    *,
    knows: str,
    together: bool = False,
    linked: bool = False,
    least_releases: int = 1,
    needs_original: bool = True,
    cheap: bool = False,
    statistical: bool = False,
) -> Callable[[Callable[[Scene], Claims | NotApplicable]], Callable[[Scene], Claims | NotApplicable]]:
    """Register the function that makes an attack's claims; see `Attack` for the arguments."""

    def declare(run: Callable[[Scene], Claims | NotApplicable]) -> Callable[[Scene], Claims | NotApplicable]:
        ATTACKS.add(
            name,
            Attack(
                name=name,
                knows=knows,
                run=run,
                together=together,
                linked=linked,
                least_releases=least_releases,
                needs_original=needs_original,
                cheap=cheap,
                statistical=statistical,
            ),
        )
        return run

    return declare


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """What an attack answers.

    ``interval`` is that of the share of claims that are right (Clopper and Pearson, 95 %). ``exposed_share`` is the
    share of the people attacked about whom a claim is right that would not be right without the release; for an attack
    that is right by chance now and then, as much of it as is sure. ``limit`` is what the policy allows of that.
    ``releases`` are those that the answer is about; ``releases_seen`` is how many it was run on together, which may be
    more where a single one of them tells as much.
    """

    name: str
    knows: str
    releases: tuple[str, ...]
    releases_seen: int
    people: int
    singled_out: int
    right: int | None
    baseline: float
    interval: tuple[float, float]
    exposed_share: float
    details: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None
    not_applicable: str | None = None

    @property
    def exceeded(self) -> bool:
        """Whether more people are exposed than the policy allows."""
        return self.limit is not None and self.exposed_share > self.limit

    @classmethod
    def of(
        cls,
        method: Attack,
        answer: Claims | NotApplicable,
        *,
        releases: tuple[str, ...],
        releases_seen: int,
        limit: float | None,
    ) -> AttackResult:
        """The result of an attack from the claims that it made."""
        reason = None
        if isinstance(answer, NotApplicable):
            reason, answer = answer.reason, Claims(people=0, singled_out=0, right=0, baseline=0.0)
        # Where nobody can tell, every claim is taken to be right: a limit must hold for the worst.
        right = answer.singled_out if answer.right is None else answer.right
        interval = clopper_pearson(right, answer.singled_out)
        share = right / answer.singled_out if answer.singled_out else 0.0
        sure = interval[0] if method.statistical else share
        exposed = max(0.0, sure - answer.baseline) * answer.singled_out / max(answer.people, 1)
        return cls(
            name=method.name,
            knows=method.knows,
            releases=releases,
            releases_seen=releases_seen,
            people=answer.people,
            singled_out=answer.singled_out,
            right=answer.right,
            baseline=answer.baseline,
            interval=interval if answer.right is not None else (0.0, 1.0),
            exposed_share=exposed,
            details=answer.details,
            limit=limit,
            not_applicable=reason,
        )


_TAIL = (1 - 0.95) / 2


def clopper_pearson(right: int, claims: int) -> tuple[float, float]:
    """The exact 95 % interval of the share of claims that are right, ``right`` of ``claims`` being so.

    >>> [round(end, 4) for end in clopper_pearson(0, 10)]
    [0.0, 0.3085]
    >>> clopper_pearson(0, 0)
    (0.0, 1.0)
    """
    from scipy.special import betaincinv  # slow to import, and help pages need none of it

    if not 0 <= right <= claims:
        raise ValueError("no more claims can be right than were made")
    low = 0.0 if right == 0 else float(betaincinv(right, claims - right + 1, _TAIL))
    high = 1.0 if right == claims else float(betaincinv(right + 1, claims - right, 1 - _TAIL))
    return low, high


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
