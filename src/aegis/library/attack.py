"""Attack releases with the provider's own knowledge: who could be singled out by whoever holds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from aegis.attacks.attack import ATTACKS, AttackResult, chosen_attacks, run_attacks
from aegis.commands.attack import AttackOptions
from aegis.errors import OptionError
from aegis.library.releasing.attack_scene import scene_of
from aegis.library.tables.judging import read_policy
from aegis.library.tables.masked_data import roles_with
from aegis.library.tables.opening import find_hierarchies, one_configuration, open_table
from aegis.masking.configuration import Configuration
from aegis.operation import operation
from aegis.result import Result, called


@dataclass(frozen=True, slots=True, kw_only=True)
class Attacked(Result):
    """What every attack found; ``people`` is how many the original holds."""

    releases: tuple[str, ...]
    people: int
    results: tuple[AttackResult, ...] = field(metadata=called("attacks"))
    also_shown: ClassVar[tuple[str, ...]] = ("exceeded",)

    @property
    def exceeded(self) -> tuple[str, ...]:
        """The attacks that expose more people than the policy allows."""
        return tuple(result.name for result in self.results if result.exceeded)

    @property
    def exit_status(self) -> int:
        return 1 if self.exceeded else 0

    @property
    def headline(self) -> str:
        worst = max(self.results, key=lambda result: result.exposed_share)
        return f"{worst.name} exposes most: {100 * worst.exposed_share:.2f} % of {worst.people:,} people"

    def table_rows(self) -> list[dict[str, Any]]:
        columns = ("name", "people", "singled_out", "right", "baseline", "exposed_share")
        return [{name: getattr(result, name) for name in columns} for result in self.results]


@operation(AttackOptions)
def attack(options: AttackOptions) -> Attacked:
    """Run attacks on releases of one table, one after the other and on all of them together.

    The attacker holds the releases and their certificates, so he knows how they were masked. Each attack states what
    else he knows. The original tells how many of his claims are right.

    Example::

        released = aegis.release(
            "clinic.csv", config="configurations/strict.yaml", policy="policy.yaml", out="released.csv"
        )
        aegis.attack([released.out], original="clinic.csv", policy="policy.yaml", attacks=["prosecutor", "averaging"])
    """
    if not options.releases:
        raise OptionError("name a release to attack")
    policy = None if options.policy is None else read_policy(options.policy, person=options.person)
    unit = options.person if policy is None else policy.unit
    limits = {} if policy is None else dict(policy.attacks)
    if options.config and len(options.config) != len(options.releases):
        raise OptionError(
            f"{len(options.config)} configurations are given for {len(options.releases)} releases; give one for each"
        )
    original = open_table(options.original, options)
    if unit is not None:
        original.schema.check(unit)
    roles = roles_with(original, None, label=options.label)
    if policy is not None:
        roles = policy.roles_in(original.schema, roles)
    if not roles.quasi_identifying:
        raise OptionError("no column is quasi-identifying: name what the attacker knows with --quasi or a policy")
    if not options.config:
        options.refuse("hierarchies", because="the certificates hold the hierarchies that were used")
    hierarchies = find_hierarchies(options.hierarchies, options.original)
    configurations: list[Configuration | None] = [
        one_configuration(configuration, hierarchies=hierarchies, data=options.original)
        for configuration in options.config
    ]
    paths = [Path(path) for path in options.releases]
    if len({path.absolute() for path in paths}) < len(paths):
        raise OptionError("a release is named twice; name each once")
    for name in options.attacks:
        ATTACKS[name]  # says which there are if it is not one of them
    scene = scene_of(
        list(zip(paths, configurations or [None] * len(paths), strict=True)),
        original,
        roles=roles,
        policy=policy,
        seed=options.seed,
        unit=unit,
    )
    results = run_attacks(chosen_attacks(options.attacks, scene), scene, limits=limits, progress=options.progress)
    attacked = Attacked(releases=tuple(path.name for path in paths), people=scene.truth.count, results=results)
    if options.report is not None:
        from aegis.report.attack_report import render_attacks  # an extra
        from aegis.report.page import write_page

        page = render_attacks(attacked.results, releases=attacked.releases, people=attacked.people)
        write_page(options.report, page, overwrite=options.overwrite)
    return attacked
