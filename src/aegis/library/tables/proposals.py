"""The configurations to compare: those that were given, and those that the generator makes beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from aegis.commands.fields import Proposing
from aegis.counts.joint import TableCounts
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Roles
from aegis.errors import ConfigurationError
from aegis.masking.configuration import Configuration
from aegis.masking.generator import generate


def propose(
    configurations: list[Configuration],
    options: Proposing,
    counted: TableCounts,
    columns: Iterable[str],
    *,
    seed: int,
    hierarchies: Mapping[str, Hierarchy],
    roles: Roles,
    none_is_fine: bool = False,
) -> list[Configuration]:
    """The given configurations and the generated ones that the options ask for, each fit for the table."""
    proposed = configurations + generated(
        to_be_masked(counted, roles, asked=options.mask_columns),
        count=options.generate,
        strength=options.strength,
        masks=options.masks,
        seed=seed,
        hierarchies=hierarchies,
    )
    return [] if none_is_fine and not proposed else checked(proposed, columns)


def check_proposing(
    configurations: list[Configuration], options: Proposing, counted: TableCounts, columns: Iterable[str], roles: Roles
) -> None:
    """Say what is wrong with what `propose` is asked for, while nothing was spent on the counts yet."""
    to_be_masked(counted, roles, asked=options.mask_columns)
    if not configurations and options.generate > 0:
        return
    for configuration in checked(configurations, columns):
        for column, mask in configuration.masks.items():
            if column in counted.joints:
                mask.check(counted.joints[column].attribute.kind, column=column)


def to_be_masked(counted: TableCounts, roles: Roles, *, asked: Sequence[str] = ()) -> TableCounts:
    """What was counted of the columns that generated configurations mask.

    Those asked for; else the quasi-identifying ones, because a mask on any other column costs use and protects nobody;
    else, where nobody said which those are, all.
    """
    for name in asked:
        if name not in counted.joints:
            raise ConfigurationError(
                f"generated configurations cannot mask {name!r}: it is the label, identifying, or no column of the "
                f"table; those that can be are {', '.join(counted.joints)}"
            )
    chosen = set(asked or roles.quasi_identifying or counted.joints)
    return replace(counted, joints={name: joint for name, joint in counted.joints.items() if name in chosen})


def generated(
    counted: TableCounts,
    *,
    count: int,
    strength: str,
    seed: int,
    masks: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> list[Configuration]:
    """``count`` different configurations that fit what was counted, or as many as there are."""
    if count <= 0:
        return []
    return generate(
        {name: joint.histogram() for name, joint in counted.joints.items()},
        count=count,
        strength=strength,
        masks=tuple(masks) or None,
        rng=np.random.default_rng(seed),
        hierarchies=hierarchies or {},
        fewer_if_need_be=True,
    )


def checked(configurations: list[Configuration], columns: Iterable[str]) -> list[Configuration]:
    """The configurations, or an error that names the column the table lacks or the name used twice."""
    if not configurations:
        raise ConfigurationError(
            "there is no configuration to rank; give some with --configs or make some with --generate"
        )
    there_are = set(columns)
    names: set[str] = set()
    for configuration in configurations:
        for column in configuration.masks:
            if column not in there_are:
                raise ConfigurationError(
                    f"configuration {configuration.name!r} masks the column {column!r}, which the table does not have; "
                    f"its columns are {', '.join(sorted(there_are))}"
                )
        if configuration.name in names:
            raise ConfigurationError(f"two configurations are called {configuration.name!r}; rename one")
        names.add(configuration.name)
    return configurations
