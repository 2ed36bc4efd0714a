"""Hold a table, masked or not, against a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import numpy as np

from aegis.counts.class_table import ClassTable
from aegis.counts.collect_classes import count_classes
from aegis.data.dataset import Dataset
from aegis.data.domain import Domain
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.kind import Kind
from aegis.data.schema import Roles, Schema
from aegis.errors import PolicyError
from aegis.library.candidates import find_hierarchies, one_configuration
from aegis.library.keywords import check_keywords
from aegis.library.masked_data import GivenConfiguration, masked_data, roles_with
from aegis.masking.masks.generalize import Generalize
from aegis.masking.partition import Partition
from aegis.masking.transition import transition
from aegis.privacy.judgement import Judgement, hopeless, judge_all
from aegis.privacy.policy import Policy

_EVERYBODY = "_aegis_everybody"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A judgement with the roles it was made under.

    ``unlisted`` are the columns without a role: they count as insensitive, and nobody decided that. ``reason`` says in
    a sentence why the policy is not satisfied.
    """

    judgement: Judgement
    roles: Roles
    unlisted: tuple[str, ...]
    reason: str | None

    @property
    def satisfied(self) -> bool:
        return self.judgement.satisfied

    def to_json(self) -> dict[str, Any]:
        """The object that ``aegis check --json`` prints."""
        return {
            **self.judgement.as_certificate(),
            "reason": self.reason,
            "worst_classes": [
                {"size": w.size, "classes": w.classes, "records": w.records, "models": list(w.models)}
                for w in self.judgement.worst
            ],
            "roles": self.roles.to_mapping(),
            "unlisted_are_insensitive": list(self.unlisted),
        }


def check(
    data: Any,
    *,
    policy: Policy | str | Path,
    configuration: GivenConfiguration | None = None,
    suppress: bool = True,
    label: str | None = None,
    hierarchies: str | Path | Mapping[str, Hierarchy] | None = None,
    **options: Any,
) -> Check:
    """Judge ``data`` by ``policy``, after masking it by ``configuration`` if one is given.

    Failing records are suppressed up to the policy's limit unless ``suppress`` is off. Further ``options`` are those of
    `open_dataset`.
    """
    check_keywords(check, options)
    rules = read_policy(policy)
    known = find_hierarchies(hierarchies, data)
    chosen = None if configuration is None else one_configuration(configuration, hierarchies=known, data=data)
    dataset = data if isinstance(data, Dataset) else open_dataset(data, **options)
    roles = rules.roles_in(dataset.schema, roles_with(dataset, chosen, label=label))
    schema = dataset.schema
    if chosen is not None:
        dataset = masked_data(dataset, chosen.masks).dataset
    table = classes_of(dataset, rules, roles, hierarchies=known)
    judgement = judge_all(table, rules, suppress=suppress)
    return Check(judgement=judgement, roles=roles, unlisted=unlisted(schema, roles), reason=why_not(judgement, table))


def classes_of(
    dataset: Dataset,
    policy: Policy,
    roles: Roles,
    *,
    contents: tuple[str, ...] = (),
    released: bool = False,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> ClassTable:
    """The class table a policy needs, with further contents if wanted."""
    wanted = tuple(dict.fromkeys((*policy.attributes, *contents)))
    quasi = roles.quasi_identifying
    if not quasi:  # every quasi-identifier is left out: nothing tells the records apart
        dataset, quasi = open_dataset(dataset.table.mutate(**{_EVERYBODY: ibis.literal("everybody")})), (_EVERYBODY,)
    table = count_classes(dataset, quasi, contents=wanted, released=released)
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


def read_policy(policy: Policy | str | Path | Mapping[str, Any]) -> Policy:
    """A policy from its file, from a mapping, or as it is."""
    if isinstance(policy, Mapping):
        return Policy.from_mapping(policy)
    return policy if isinstance(policy, Policy) else Policy.read(Path(policy))


def unlisted(schema: Schema, roles: Roles) -> tuple[str, ...]:
    """The columns that nobody gave a role."""
    return tuple(name for name in schema.names if roles.get(name) is None)


def why_not(judged: Judgement, table: ClassTable) -> str | None:
    """Why a table does not satisfy its policy, in one sentence; None where it does."""
    if judged.satisfied:
        return None
    never = hopeless(table, judged.policy)
    if never:
        said = "; ".join(verdict.sentence().removesuffix(": NOT satisfied") for verdict in never)
        more = "" if judged.policy.max_suppression == 0 else " without dropping records"
        return f"no masking can satisfy this policy{more}: with every quasi-identifier hidden, {said}"
    failed = "; ".join(
        verdict.sentence().removesuffix(": NOT satisfied") for verdict in judged.verdicts if not verdict.satisfied
    )
    return "; ".join(part for part in (failed, judged.reason) if part) + "; mask more"
