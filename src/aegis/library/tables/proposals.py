"""Where the configurations to compare come from: files, objects, or the generator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from aegis.commands.fields import ConfigurationLike, ConfigurationsLike, HierarchiesLike, Proposing
from aegis.counts.joint import TableCounts
from aegis.data.dataset import Dataset
from aegis.data.hierarchy import Hierarchy, read_hierarchies
from aegis.data.schema import Roles
from aegis.errors import ConfigurationError
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import configurations_from_mapping, load_configurations
from aegis.masking.generator import generate
from aegis.operation import names


def gather(
    configurations: ConfigurationsLike | None,
    *,
    hierarchies: HierarchiesLike | None = None,
    data: Any = None,
) -> list[Configuration]:
    """Configurations from a file, a folder, one object or several."""
    if configurations is None:
        return []
    if isinstance(configurations, Configuration):
        return [configurations]
    if isinstance(configurations, str | Path):
        return load_configurations(Path(configurations), hierarchies=find_hierarchies(hierarchies, data))
    if isinstance(configurations, Mapping):
        available = find_hierarchies(hierarchies, data)
        return configurations_from_mapping(configurations, name="configuration", hierarchies=available)
    gathered: list[Configuration] = []
    for number, configuration in enumerate(configurations, start=1):
        if isinstance(configuration, Configuration):
            gathered.append(configuration)
        elif isinstance(configuration, Mapping):
            available = find_hierarchies(hierarchies, data)
            gathered += configurations_from_mapping(
                configuration, name=f"configuration-{number}", hierarchies=available
            )
        else:
            raise ConfigurationError("a list of configurations holds Configuration objects or {column: mask} mappings")
    return gathered


def one_configuration(
    configuration: ConfigurationLike, *, hierarchies: HierarchiesLike | None = None, data: Any = None
) -> Configuration:
    """The one configuration of a file."""
    gathered = gather(configuration, hierarchies=hierarchies, data=data)
    if len(gathered) != 1:
        raise ConfigurationError(f"there are {len(gathered)} configurations; give a file that holds one")
    return gathered[0]


def label_of(named: str | None, label_role: str | None, configurations: Iterable[Configuration]) -> str | None:
    """The label asked for, or that of the roles, or the one the configurations were made for.

    A configuration that names another one is an error: what was chosen for one label says little about another.
    """
    label = named or label_role
    for configuration in configurations:
        label = label or configuration.label
        if configuration.label not in (None, label):
            raise ConfigurationError(
                f"configuration {configuration.name!r} is for the label {configuration.label!r}, and the label here is "
                f"{label!r}; name its label with --label, or take it out of the configuration"
            )
    return label


def labels_of(asked: str | None, dataset: Dataset, configurations: Iterable[Configuration]) -> tuple[str, ...]:
    """The labels to rank for: those asked for, separated by commas, or the one of roles or configurations.

    Where nobody names one, every column that does not identify people is one in turn.
    """
    if asked is not None and asked not in dataset.schema:
        several = names(asked)
        if len(several) > 1:
            for name in several:
                dataset.schema.kind(name)  # says which columns there are if it is not one of them
            return tuple(dict.fromkeys(several))
    label = label_of(asked, dataset.roles.label, configurations)
    if label is not None:
        return (label,)
    identifying = set(dataset.roles.identifying)
    return tuple(name for name in dataset.schema.names if name not in identifying)


def find_hierarchies(hierarchies: HierarchiesLike | None, data: Any) -> dict[str, Hierarchy]:
    """The hierarchies given, or those in a folder ``hierarchies`` beside the data."""
    if isinstance(hierarchies, Mapping):
        return dict(hierarchies)
    if hierarchies is not None:
        return read_hierarchies(Path(hierarchies))
    if isinstance(data, str | Path) and "://" not in str(data):
        beside = Path(data).parent / "hierarchies"
        if beside.is_dir():
            return read_hierarchies(beside)
    return {}


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
