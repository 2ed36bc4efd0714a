"""Hold a table, masked or not, against a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.data.hierarchy import Hierarchy
from aegis.data.schema import Roles, Schema
from aegis.library.judging import classes_of, read_policy, why_not
from aegis.library.keywords import check_keywords
from aegis.library.masked_data import GivenConfiguration, masked_data, roles_with
from aegis.library.proposals import find_hierarchies, one_configuration
from aegis.privacy.judgement import Judgement, judge_all
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


def unlisted(schema: Schema, roles: Roles) -> tuple[str, ...]:
    """The columns that nobody gave a role."""
    return tuple(name for name in schema.names if roles.get(name) is None)
