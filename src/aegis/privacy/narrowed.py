"""A policy for a table that publishes only some of the columns it speaks of.

A column that is not published tells nobody apart and discloses nothing. So a quasi-identifier that is left out forms
no classes, and a model about an attribute that is left out has nothing to judge. Everything else is judged as it is:
on the table that is written, by the thresholds that the policy names.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from aegis.data.schema import Roles
from aegis.errors import PolicyError
from aegis.privacy.policy import Policy


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
    kept = []
    for model in policy.models:
        absent = gone & set(model.needs)
        if not absent:
            kept.append(model)
        elif len(absent) < len(model.needs):
            raise PolicyError(
                f"the policy protects {', '.join(model.needs)} together; leave out all of them or none of them"
            )
    if not kept:
        raise PolicyError(
            "the policy speaks only of columns that are left out, so nothing of it could be judged; keep one of them, "
            "or give the policy a k"
        )
    return Narrowed(
        policy=replace(policy, models=tuple(kept), roles=without(policy.roles, gone)), roles=without(roles, gone)
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
