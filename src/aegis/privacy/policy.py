"""What a release must keep before it may be released: models, roles of the columns, and how much may be suppressed.

A table may publish only some of the columns that a policy speaks of (`narrowed`). A column that is not published tells
nobody apart and discloses nothing. So a quasi-identifier that is left out forms no classes, and a model about an
attribute that is left out has nothing to judge. Everything else is judged as it is: on the table that is written, by
the thresholds that the policy names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from aegis.data.schema import Role, Roles, Schema
from aegis.data.yaml_text import part_of
from aegis.errors import PolicyError, RoleError
from aegis.privacy.model import Model, Range
from aegis.privacy.policy_format import models_from, models_to, parsed_yaml, written_yaml
from aegis.privacy.verdict import shown


class Suppressed(StrEnum):
    """What happens to suppressed records, and so what the models see of them.

    JUDGED: they are published with ``*`` in every quasi-identifier, as one class that must satisfy every model.
    EXEMPT: they are published in the same way, but no model judges their class.
    DROPPED: they are not published, and count in no distribution.
    """

    JUDGED = "judged"
    EXEMPT = "exempt"
    DROPPED = "dropped"


class Recipients(StrEnum):
    """Who may put releases of one table together.

    TOGETHER: anybody may hold all of them. SEPARATE: each recipient holds what was given to it or to anybody.
    """

    TOGETHER = "together"
    SEPARATE = "separate"


_BESIDE_MODELS = (*(role.value for role in Role), "max_suppression", "suppressed", "attacks", "recipients", "unit")
"""What a policy may say beside its models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The models a table must satisfy, the roles that override the table's own, and the limit on suppression.

    ``attacks`` limits, by the name of an attack, the share of people whom it may expose (`aegis attack`).
    ``recipients`` says which of the earlier releases a new one is judged together with. ``unit`` names the column that
    says whose records they are: every model then counts people, not records (docs/theory/people.md).

    >>> policy = Policy.from_yaml('''
    ... quasi_identifying: [age, zip]
    ... k: 5
    ... l: {disease: {kind: entropy, l: 2}}
    ... max_suppression: 0.02
    ... ''')
    >>> print(policy.describe())
    k-anonymity: at least 5
    entropy-l-diversity of disease: at least 2
    up to 2% of the records may be suppressed; their class is judged like any other
    >>> policy.roles.sensitive
    ('disease',)
    """

    models: tuple[Model, ...]
    roles: Roles = field(default_factory=Roles)
    max_suppression: float = 0.0
    suppressed: Suppressed = Suppressed.JUDGED
    attacks: tuple[tuple[str, float], ...] = ()
    recipients: Recipients = Recipients.TOGETHER
    unit: str | None = None

    def __post_init__(self) -> None:
        if not self.models:
            raise PolicyError("the policy asks for nothing; give it at least one model, for instance k: 5")
        Range(high=1).check(self.max_suppression, model="the policy", what="max_suppression")
        for name, share in self.attacks:
            Range(high=1).check(share, model="the policy", what=f"the limit of {name} under attacks")
        object.__setattr__(self, "attacks", tuple(sorted(self.attacks)))
        if self.unit is not None and (not isinstance(self.unit, str) or not self.unit):
            raise PolicyError("unit must be the name of the column that says whose records they are: unit: patient")
        seen: set[tuple[object, ...]] = set()
        for model in self.models:
            settings = tuple(sorted(model.shown_parameters().items()))
            key = (model.name, model.needs, settings)
            if key in seen:
                of = f" of {model.subject}" if model.subject else ""
                raise PolicyError(f"the policy asks twice for {model.name}{of}; keep the stricter one")
            seen.add(key)
        object.__setattr__(self, "models", tuple(sorted(self.models, key=_order)))
        object.__setattr__(self, "roles", self._with_attributes())
        if self.unit is not None:
            object.__setattr__(self, "roles", _with_unit(self.roles, self.unit))

    def _with_attributes(self) -> Roles:
        """The roles, with every attribute that a model protects among the sensitive ones."""
        sensitive = list(self.roles.sensitive)
        for attribute in self.attributes:
            role = self.roles.get(attribute)
            if role not in (None, Role.SENSITIVE, Role.LABEL):
                raise PolicyError(
                    f"the policy protects {attribute!r} as a sensitive attribute and names it {role.value}; "
                    "give the column one part"
                )
            if attribute not in sensitive:
                sensitive.append(attribute)
        return replace(self.roles, sensitive=tuple(sensitive))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The sensitive attributes that must be counted with the classes, each once."""
        return tuple(dict.fromkeys(attribute for model in self.models for attribute in model.needs))

    @property
    def hierarchical(self) -> tuple[str, ...]:
        """The attributes whose hierarchy is needed to judge the policy."""
        return tuple(model.subject for model in self.models if model.subject and model.needs_hierarchy)

    @property
    def monotone(self) -> bool:
        """Whether merging classes keeps the policy satisfied, as long as nothing is suppressed."""
        if self.unit is not None:
            return all(model.monotone_in_people for model in self.models)
        return all(model.monotone for model in self.models)

    @property
    def absorbing(self) -> bool:
        """Whether merging classes never adds a record to those that must be suppressed."""
        if self.unit is not None:
            return all(model.absorbing_in_people for model in self.models)
        return all(model.absorbing for model in self.models)

    @property
    def id(self) -> str:
        """A name made from the content: policies that ask the same have equal ids, however they were written."""
        mapping = self.to_mapping()
        for role in Role:  # the order of columns says nothing
            if isinstance(mapping.get(role.value), list):
                mapping[role.value] = sorted(mapping[role.value])
        text = json.dumps(mapping, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def describe(self) -> str:
        """The policy in a few lines."""
        lines = []
        for model in self.models:
            of = f" of {', '.join(model.needs)}" if model.needs else ""
            more = "".join(f", {k} {v}" for k, v in model.shown_parameters().items() if k != "attributes")
            lines.append(f"{model.name}{of}: {model.bound.value} {shown(model.threshold)}{more}")
        if self.max_suppression == 0:
            lines.append("no record may be suppressed")
        else:
            then = {
                Suppressed.JUDGED: "their class is judged like any other",
                Suppressed.EXEMPT: "their class is exempt from every model",
                Suppressed.DROPPED: "they are not published",
            }[self.suppressed]
            lines.append(f"up to {100 * self.max_suppression:g}% of the records may be suppressed; {then}")
        if self.unit is not None:
            lines.append(f"people are counted, not records: {self.unit} says whose they are")
        for name, share in self.attacks:
            lines.append(f"the attack {name} exposes at most {100 * share:g}% of the people")
        if self.recipients is Recipients.SEPARATE:
            lines.append("recipients do not put their releases together")
        return "\n".join(lines)

    def roles_in(self, schema: Schema, own: Roles) -> Roles:
        """The roles of a table's columns: its own, overridden by the policy's.

        Raises if the policy names a column that the table does not have, or nothing is left to identify by.
        """
        for column in self.roles.named:
            if column not in schema:
                raise PolicyError(
                    f"the policy names column {column!r}, which the table does not have; "
                    f"its columns are {', '.join(schema.names)}"
                )
        for word, columns in (
            ("identifying", self.roles.identifying),
            ("quasi-identifying", self.roles.quasi_identifying),
        ):
            if self.roles.label is None and own.label in columns:
                raise PolicyError(f"the policy names {own.label!r} {word}, but it is the label; choose another label")
        roles = own.overridden_by(self.roles)
        if self.unit is not None:
            roles = _with_unit(roles, self.unit)
        for column in self.roles.quasi_identifying:
            if column not in roles.quasi_identifying:
                raise PolicyError(
                    f"the policy names {column!r} quasi-identifying, but it is the label; choose another label"
                )
        if not roles.quasi_identifying:
            raise PolicyError("no column is quasi-identifying; name them in the policy: quasi_identifying: [age, zip]")
        return roles

    def to_mapping(self) -> dict[str, Any]:
        """The policy as YAML writes it."""
        mapping: dict[str, Any] = {**self.roles.to_mapping(), **models_to(self.models)}
        mapping["max_suppression"] = _plain(self.max_suppression)
        mapping["suppressed"] = self.suppressed.value
        if self.attacks:
            mapping["attacks"] = {name: _plain(share) for name, share in self.attacks}
        if self.recipients is not Recipients.TOGETHER:  # the usual is not written: ids of policies stay what they were
            mapping["recipients"] = self.recipients.value
        if self.unit is not None:
            mapping["unit"] = self.unit
        return mapping

    def by_records(self) -> Policy:
        """The same thresholds where every record counts, whoever it belongs to."""
        return self if self.unit is None else replace(self, unit=None)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], *, where: str = "the policy") -> Policy:
        """Read what `to_mapping` writes, and the shorter forms that people write."""
        roles_given = {key: mapping[key] for key in mapping if key in {role.value for role in Role}}
        rest = {key: value for key, value in mapping.items() if key not in roles_given}
        try:
            roles = Roles.from_mapping(roles_given, where=where)
        except RoleError as error:
            raise PolicyError(str(error)) from None
        max_suppression = rest.pop("max_suppression", 0.0)
        suppressed = rest.pop("suppressed", Suppressed.JUDGED.value)
        attacks = rest.pop("attacks", None) or {}
        if not isinstance(attacks, Mapping):
            raise PolicyError(
                f"{where}: attacks must give each attack the share of people it may expose: {{prosecutor: 0}}"
            )
        if suppressed not in {choice.value for choice in Suppressed}:
            raise PolicyError(f"{where}: suppressed must be one of {', '.join(choice.value for choice in Suppressed)}")
        unit = rest.pop("unit", None)
        recipients = rest.pop("recipients", Recipients.TOGETHER.value)
        if recipients not in {choice.value for choice in Recipients}:
            raise PolicyError(f"{where}: recipients must be one of {', '.join(choice.value for choice in Recipients)}")
        return cls(
            models=models_from(rest, sensitive=roles.sensitive, where=where, beside=_BESIDE_MODELS),
            roles=roles,
            max_suppression=max_suppression,
            suppressed=Suppressed(suppressed),
            attacks=tuple((str(name), share) for name, share in attacks.items()),
            recipients=Recipients(recipients),
            unit=unit,
        )

    @classmethod
    def from_yaml(cls, text: str) -> Policy:
        return cls.from_mapping(parsed_yaml(text, where="the policy"), where="the policy")

    def to_yaml(self) -> str:
        return written_yaml(self.to_mapping())

    @classmethod
    def read(cls, path: Path) -> Policy:
        """Read a policy file, or the policy of a project file."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise PolicyError(f"the policy {path} cannot be read; give the path of a YAML file") from None
        where = f"policy {path.name}"
        return cls.from_mapping(part_of(parsed_yaml(text, where=where), "policy", where=path.name), where=where)


def _with_unit(roles: Roles, unit: str) -> Roles:
    """The roles, where the column that says whose records they are is identifying."""
    role = roles.get(unit)
    if role not in (None, Role.IDENTIFYING):
        raise PolicyError(
            f"people are counted by {unit!r}, which is named {role.value}: what says whose records they are is "
            "identifying and is not published"
        )
    return roles if role is not None else replace(roles, identifying=(*roles.identifying, unit))


def _order(model: Model) -> tuple[str, ...]:
    """Models about sizes first, then by attribute: the order of verdict tables."""
    return ("" if model.name == "k-anonymity" else model.name, *model.needs, str(sorted(model.parameters().items())))


def _plain(number: float) -> float:
    return int(number) if float(number).is_integer() else number


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowed:
    """What is left of a policy and of the roles; a table without quasi-identifiers is one class of all its records."""

    policy: Policy
    roles: Roles


def narrowed(policy: Policy, roles: Roles, *, left_out: Collection[str]) -> Narrowed:
    """The policy and the roles for the columns that stay.

    >>> policy = Policy.from_mapping({"quasi_identifying": ["age", "zip"], "k": 5, "l": {"disease": 2}})
    >>> left = narrowed(policy, policy.roles, left_out=("zip", "disease"))
    >>> left.roles.quasi_identifying, [model.name for model in left.policy.models]
    (('age',), ['k-anonymity'])
    """
    gone = set(left_out)
    if not gone:
        return Narrowed(policy=policy, roles=roles)
    models = []
    for model in policy.models:
        absent = gone & set(model.needs)
        if not absent:
            models.append(model)
        elif len(absent) < len(model.needs):
            raise PolicyError(
                f"the policy protects {', '.join(model.needs)} together; leave out all of them or none of them"
            )
    if not models:
        raise PolicyError(
            "the policy speaks only of columns that are left out, so nothing of it could be judged; keep one of them, "
            "or give the policy a k"
        )
    return Narrowed(
        policy=replace(policy, models=tuple(models), roles=without(policy.roles, gone)), roles=without(roles, gone)
    )


def without(roles: Roles, columns: Collection[str]) -> Roles:
    """The roles of the other columns."""

    def stay(listed: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in listed if name not in columns)

    return Roles(
        label=None if roles.label in columns else roles.label,
        identifying=stay(roles.identifying),
        quasi_identifying=stay(roles.quasi_identifying),
        sensitive=stay(roles.sensitive),
        insensitive=stay(roles.insensitive),
    )
