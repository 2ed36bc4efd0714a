"""The columns and the policy of a product, checked by the library's own rules.

Columns can come from a file that is there already: what ``aegis inspect --json`` printed, or a roles file. Neither
holds a value of the table. A role that `inspect` only suggests is none: somebody has to choose it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from aegis.catalog.database.tables import Product
from aegis.catalog.service.checks import checked_document, checked_line, checked_text, parsed_document, well_formed
from aegis.data.kind import Kind
from aegis.data.schema import Column, Role, Roles, Schema
from aegis.errors import InputError, PolicyError, RoleError
from aegis.privacy.policy import Policy

MOST_COLUMNS = 2_000
MOST_POLICY_CHARACTERS = 100_000
MOST_POLICY_PARTS = 5_000
MOST_FILE_BYTES = 1 << 20
_MOST_FILE_PARTS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFacts:
    """What pages show of a policy."""

    id: str
    lines: tuple[str, ...]


def checked_columns(columns: Iterable[Mapping[str, Any]], label: str | None) -> tuple[list[Any], str | None]:
    """The columns as they are stored, and the label among them."""
    if isinstance(columns, str | Mapping) or not isinstance(columns, Iterable):
        raise InputError("columns must be a list of {name, kind, role}")
    checked = [_column(column) for column in columns]
    if not 1 <= len(checked) <= MOST_COLUMNS:
        raise InputError(f"a product has 1 to {MOST_COLUMNS} columns")
    names = [column["name"] for column in checked]
    if len(set(names)) < len(names):
        raise RoleError("two columns have the same name; rename one")
    labels = [column["name"] for column in checked if column["role"] == Role.LABEL]
    if len(labels) > 1:
        raise RoleError("two columns have the role label; a product has one")
    if label is None:
        return checked, labels[0] if labels else None
    roles = {column["name"]: column["role"] for column in checked}
    if not isinstance(label, str) or label not in roles:
        raise RoleError("the label is none of the columns; name one of them")
    if labels not in ([], [label]) or roles[label] not in (Role.LABEL, Role.SENSITIVE):
        raise RoleError(f"the label must be the column with the role {Role.LABEL.value}, or a sensitive one")
    return checked, label


def _column(declared: Any) -> dict[str, str]:
    if not isinstance(declared, Mapping) or not {"name", "kind", "role"} <= set(declared):
        raise InputError("a column is written as {name, kind, role} with an optional description")
    if set(declared) - {"name", "kind", "role", "description"}:
        raise InputError("a column has a name, a kind, a role and a description, and nothing else")
    kinds, roles = [kind.value for kind in Kind], [role.value for role in Role]
    if declared["kind"] not in kinds:
        raise InputError(f"the kind of a column is one of {', '.join(kinds)}")
    if declared["role"] not in roles:
        raise RoleError(f"each column needs a role: one of {', '.join(roles)}")
    return {
        "name": checked_line(declared["name"], what="the name of a column", most=128),
        "kind": declared["kind"],
        "role": declared["role"],
        "description": checked_text(declared.get("description") or "", what="the description of a column", most=2_000),
    }


def schema_of(columns: Iterable[Mapping[str, Any]]) -> Schema:
    return Schema(columns=tuple(Column(name=column["name"], kind=Kind(column["kind"])) for column in columns))


def roles_of(columns: Iterable[Mapping[str, Any]], label: str | None) -> Roles:
    """The roles of a product's columns, as the library writes them."""
    listed: dict[str, list[str]] = {}
    for column in columns:
        listed.setdefault(column["role"], []).append(column["name"])
    listed.pop(Role.LABEL.value, None)
    return Roles(label=label, **{role: tuple(names) for role, names in listed.items()})


def checked_policy(
    policy: Mapping[str, Any], columns: Iterable[Mapping[str, Any]], label: str | None
) -> dict[str, Any]:
    """The policy in its longest form, which fits the columns."""
    if not isinstance(policy, Mapping):
        raise PolicyError("a policy is written as a mapping, for instance {k: 5, quasi_identifying: [age, zip]}")
    checked_document(policy, what="the policy", most=MOST_POLICY_PARTS)
    listed = list(columns)
    with well_formed(PolicyError, "the policy cannot be read; write it as policy files are written"):
        read = Policy.from_mapping(policy)
        read.roles_in(schema_of(listed), roles_of(listed, label))
        written = json.loads(json.dumps(read.to_mapping()))
        Policy.from_mapping(written)
    return written


def parsed_policy(text: str) -> dict[str, Any]:
    """The mapping of a policy that somebody wrote as YAML or JSON."""
    policy = parsed_document(
        text, what="the policy", most_characters=MOST_POLICY_CHARACTERS, most_parts=MOST_POLICY_PARTS
    )
    if not isinstance(policy, dict):
        raise PolicyError("the policy must hold entries like 'k: 5'")
    return policy


def policy_of(product: Product) -> Policy | None:
    return None if product.policy is None else Policy.from_mapping(product.policy)


def policy_facts(policy: Mapping[str, Any] | None) -> PolicyFacts | None:
    """Id and words of a policy; the same policy is read once."""
    return None if policy is None else _facts(json.dumps(policy, sort_keys=False))


@lru_cache(maxsize=4_096)
def _facts(text: str) -> PolicyFacts:
    policy = Policy.from_mapping(json.loads(text))
    return PolicyFacts(id=policy.id, lines=tuple(policy.describe().splitlines()))


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedColumn:
    """A column as a file names it; ``kind`` and ``role`` are empty where it says none, ``suggested`` is a guess."""

    name: str
    kind: str = ""
    role: str = ""
    suggested: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """The name of the table, if the file has it, and its columns."""

    name: str
    columns: tuple[InspectedColumn, ...]


def read_inspected(content: bytes) -> Inspected:
    """The columns that a file names; `InputError` where it is neither of the two kinds of file."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("the file is not text; send what aegis inspect --json printed, or a roles file") from None
    document = parsed_document(text, what="the file", most_characters=MOST_FILE_BYTES, most_parts=_MOST_FILE_PARTS)
    if not isinstance(document, Mapping):
        raise _neither()
    if isinstance(document.get("columns"), list):
        columns = [_inspected(column) for column in document["columns"]]
        name = document.get("name")
    else:
        columns, name = list(_by_role(document)), None
    names = [column.name for column in columns]
    if not 1 <= len(names) <= MOST_COLUMNS:
        raise InputError(f"the file must name 1 to {MOST_COLUMNS} columns")
    if len(set(names)) < len(names):
        raise InputError("the file names a column twice; take one of them out")
    return Inspected(name=name if isinstance(name, str) else "", columns=tuple(columns))


def _inspected(entry: Any) -> InspectedColumn:
    if not isinstance(entry, Mapping):
        raise _neither()
    kinds, roles = {kind.value for kind in Kind}, {role.value for role in Role}
    kind, role, suggested = entry.get("kind"), entry.get("role"), entry.get("suggested_role")
    if kind not in kinds or role not in roles | {None}:
        raise InputError("the file has a column of a kind or role that does not exist; inspect the table again")
    return InspectedColumn(
        name=checked_line(entry.get("name"), what="the name of a column", most=200),
        kind=str(kind),
        role=str(role or ""),
        suggested=str(suggested) if role is None and suggested in roles else "",
    )


def _by_role(document: Mapping[Any, Any]) -> Iterable[InspectedColumn]:
    roles = {role.value for role in Role}
    if not document or not set(document) <= roles:
        raise _neither()
    for role, named in document.items():
        listed = [named] if isinstance(named, str) else named
        if not isinstance(listed, list):
            raise _neither()
        for name in listed:
            yield InspectedColumn(name=checked_line(name, what="the name of a column", most=200), role=str(role))


def _neither() -> InputError:
    return InputError("the file is neither what aegis inspect --json printed nor a roles file; send one of them")
