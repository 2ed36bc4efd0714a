"""Hold a table, masked or not, against a policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.schema import Roles
from aegis.errors import ConfigurationError, PolicyError
from aegis.masking.configuration import Configuration
from aegis.masking.mask import Mask
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.policy import Policy
from aegis.releases.apply import MaskedTable, masked_table
from aegis.summaries.class_table import ClassTable
from aegis.summaries.collect import count_histograms
from aegis.summaries.collect_classes import count_classes
from aegis.workflows.candidates import find_hierarchies, one_configuration


def check(
    data: Any,
    *,
    policy: Policy | str | Path,
    configuration: Configuration | str | Path | Mapping[str, Any] | None = None,
    suppress: bool = True,
    hierarchies: str | Path | None = None,
    released: bool = False,
    **options: Any,
) -> Judgement:
    """Judge ``data`` by ``policy``, after masking it by ``configuration`` if one is given.

    Failing records are suppressed up to the policy's limit unless ``suppress`` is off. ``released`` says that the
    table is a release whose suppressed records are starred.
    """
    rules = read_policy(policy)
    dataset = data if isinstance(data, Dataset) else open_dataset(data, **options)
    roles = rules.roles_in(dataset.schema, dataset.roles)
    if configuration is not None:
        chosen = one_configuration(configuration, hierarchies=hierarchies, data=data)
        dataset = masked_dataset(dataset, chosen.masks)[0]
    known = find_hierarchies(hierarchies, data)
    table = classes_of(dataset, rules, roles, released=released, hierarchies=known)
    return judge_all(table, rules, suppress=suppress and not released)


def classes_of(
    dataset: Dataset,
    policy: Policy,
    roles: Roles,
    *,
    contents: tuple[str, ...] = (),
    released: bool = False,
    hierarchies: Mapping[str, Any] | None = None,
) -> ClassTable:
    """The class table a policy needs, with further contents if wanted."""
    wanted = tuple(dict.fromkeys((*policy.attributes, *contents)))
    table = count_classes(dataset, roles.quasi_identifying, contents=wanted, released=released)
    if not policy.hierarchical:
        return table
    levels = {}
    for column in policy.hierarchical:
        if not hierarchies or column not in hierarchies:
            raise PolicyError(f"the policy needs a hierarchy of {column!r}; put one into the hierarchies folder")
        levels[column] = level_partitions(hierarchies[column], table.contents[column].domain, column)
    return table.with_levels(levels)


def level_partitions(hierarchy: Any, domain: Any, column: str) -> tuple[Any, ...]:
    """The levels of a hierarchy as partitions of a domain, finest first."""
    import numpy as np

    from aegis.masking.generalize import Generalize
    from aegis.masking.transition import transition

    hierarchy.check_covers(domain, column=column)
    counts = np.ones(domain.size)
    return tuple(
        transition(Generalize(hierarchy=hierarchy, level=level), domain, counts)
        for level in range(1, hierarchy.top + 1)
    )


def read_policy(policy: Policy | str | Path) -> Policy:
    """A policy from its file, or as it is."""
    return policy if isinstance(policy, Policy) else Policy.read(Path(policy))


def masked_dataset(dataset: Dataset, masks: Mapping[str, Mask]) -> tuple[Dataset, MaskedTable]:
    """The dataset as the engine would release it under some masks."""
    for column in masks:
        if column not in dataset.schema:
            raise ConfigurationError(
                f"the configuration masks the column {column!r}, which the table does not have; "
                f"its columns are {', '.join(dataset.schema.names)}"
            )
    masked = masked_table(dataset.table, masks, histograms=count_histograms(dataset, tuple(masks)))
    return open_dataset(masked.table).with_roles(dataset.roles), masked
