"""What a policy needs counted of a table, and why a table does not satisfy one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import ibis
import numpy as np

from aegis.commands.fields import PolicyLike
from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import PERSON, count_classes
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.engine import as_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Roles
from aegis.errors import OptionError, PolicyError
from aegis.library.tables.opening import with_orders
from aegis.masking.masks.generalize import Generalize
from aegis.masking.partition import Partition
from aegis.masking.transition import transition
from aegis.privacy.judgement import Judgement, hopeless
from aegis.privacy.policy import Policy
from aegis.privacy.together import KNOWN_CLASS
from aegis.releases.certificate import sanitized_columns

_EVERYBODY = "_aegis_everybody"


def read_policy(policy: PolicyLike, *, person: str | None = None) -> Policy:
    """A policy from its file, from a mapping, or as it is; ``person`` is its unit where it names none."""
    if isinstance(policy, Mapping):
        rules = Policy.from_mapping(policy)
    else:
        rules = policy if isinstance(policy, Policy) else Policy.read(Path(policy))
    if rules.attacks:
        from aegis.attacks.attack import ATTACKS  # learners, which most policies do without

        for name, _ in rules.attacks:
            if name not in ATTACKS:
                raise PolicyError(
                    f"the policy limits the attack {name!r}, which does not exist; there are {', '.join(ATTACKS)}"
                )
    return by_person(rules, person)


def by_person(policy: Policy, person: str | None) -> Policy:
    """The policy, counting the people that a column names."""
    if person is None or policy.unit == person:
        return policy
    if policy.unit is not None:
        raise OptionError(
            f"the policy counts people by {policy.unit!r} and --person names {person!r}; name one of them"
        )
    return replace(policy, unit=person)


def refuse_sanitized(data: object, policy: Policy) -> None:
    """Raise if ``policy`` speaks of the values of a column in which a sanitizer's release stands.

    A symbol says less, or more, than the value behind it: two symbols in a class may hide one value. The true values
    were judged when the release was made, if by this very policy.
    """
    if not isinstance(data, str | Path):
        return
    released, judged_by = sanitized_columns(Path(data))
    spoken = [name for name in policy.attributes if name in released]
    if spoken and judged_by != policy.id:
        raise PolicyError(
            f"{spoken[0]!r} holds what a sanitizer released, and the policy speaks of its true values: judge them with "
            "aegis sanitize --policy"
        )


def classes_of(
    dataset: Dataset,
    policy: Policy,
    roles: Roles,
    *,
    contents: tuple[str, ...] = (),
    released: bool = False,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    known: bool = False,
) -> ClassTable:
    """The class table a policy needs, with further contents if wanted.

    ``known`` says that the table knows in which class of the earlier releases each record is: that is its last column.
    """
    attributes = tuple(dict.fromkeys((*policy.attributes, *contents)))
    quasi = roles.quasi_identifying
    if policy.unit is not None and policy.unit not in dataset.schema and PERSON not in dataset.table.columns:
        raise PolicyError(
            f"the policy counts people by the column {policy.unit!r}, which the table does not have; give the one that "
            "has it, or take the unit out of the policy to count records"
        )
    if not quasi:  # every quasi-identifier is left out: nothing tells the records apart
        dataset, quasi = as_dataset(dataset.table.mutate(**{_EVERYBODY: ibis.literal("everybody")})), (_EVERYBODY,)
    columns = (*quasi, KNOWN_CLASS) if known else quasi
    table = count_classes(dataset, columns, contents=attributes, released=released, unit=policy.unit)
    table = with_orders(table, dataset.orders)
    levels = {}
    for column in policy.hierarchical:
        if not hierarchies or column not in hierarchies:
            raise PolicyError(f"the policy needs a hierarchy of {column!r}; put one into the hierarchies folder")
        levels[column] = level_partitions(hierarchies[column], table.contents[column].domain, column)
    return table.with_levels(levels) if levels else table


def level_partitions(hierarchy: Hierarchy, domain: Domain, column: str) -> tuple[Partition, ...]:
    """The levels of a hierarchy as partitions of a domain, finest first; a missing value stays apart until the top."""
    hierarchy.check_covers(domain, column=column)
    levels = []
    for level in range(1, hierarchy.top + 1):
        change = transition(Generalize(hierarchy=hierarchy, level=level), domain, np.ones(domain.size))
        assert isinstance(change, Partition)
        levels.append(change)
    if domain.missing:
        levels.append(Partition(codes=np.zeros(domain.size, dtype=np.int64), target=Domain.of(Kind.TEXT, ["*"])))
    return tuple(levels)


def why_not(judged: Judgement, table: ClassTable) -> str | None:
    """Why a table does not satisfy its policy, in one sentence; None where it does."""
    if judged.satisfied:
        return None
    never = hopeless(table, judged.policy)
    if never:
        sentences = "; ".join(verdict.sentence().removesuffix(": NOT satisfied") for verdict in never)
        more = "" if judged.policy.max_suppression == 0 else " without dropping records"
        return f"no masking can satisfy this policy{more}: with every quasi-identifier hidden, {sentences}"
    failed = "; ".join(
        verdict.sentence().removesuffix(": NOT satisfied") for verdict in judged.verdicts if not verdict.satisfied
    )
    reason = "; ".join(part for part in (failed, judged.reason) if part)
    return reason if "mask more" in reason else f"{reason}; mask more"
