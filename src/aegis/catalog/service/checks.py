"""What people may write into the catalog: texts, documents, columns and policies, checked by the library's own rules.

Columns can come from a file that is there already: what ``aegis inspect --json`` printed, or a roles file. Neither
holds a value of the table. A role that `inspect` only suggests is none: somebody has to choose it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from aegis.catalog.database.tables import Product, is_id
from aegis.data.kind import Kind
from aegis.data.schema import Column, Role, Roles, Schema
from aegis.data.yaml_text import UNREADABLE
from aegis.errors import AegisError, ConfigurationError, InputError, PolicyError, RoleError, TooLargeError
from aegis.privacy.policy import Policy
from aegis.releases.hashed_json import without_repeated_keys

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NOT_IN_FILES = re.compile(r"""[/\\;&|<>$`"'*?#!~]""")
_DEEPEST = 40
MOST_PARTS = 500_000
_LARGEST = 2**53


def checked_text(value: Any, *, what: str, most: int, least: int = 0) -> str:
    """The text without blanks around it, or an error that names the field and never quotes it."""
    if not isinstance(value, str):
        raise InputError(f"{what} must be text")
    text = value.strip()
    if not least <= len(text) <= most:
        raise InputError(f"{what} must have {least} to {most} characters; it has {len(text)}")
    if not printable(text):
        raise InputError(f"{what} holds control characters or broken Unicode; leave them out")
    return text


def checked_line(value: Any, *, what: str, most: int) -> str:
    """A text of one line, for names that stand in lists and tables."""
    text = checked_text(value, what=what, least=1, most=most)
    if not text.isprintable():
        raise InputError(f"{what} must be one line without tabs; leave them out")
    return text


def checked_file_stem(value: Any, *, what: str, most: int) -> str:
    """A name that becomes that of a file on somebody's machine.

    >>> checked_file_stem("decades (ages ≤ 90)", what="the name", most=120)
    'decades (ages ≤ 90)'
    """
    text = checked_line(value, what=what, most=most)
    if text[0] in "-." or _NOT_IN_FILES.search(text):
        raise InputError(
            f"{what} becomes the name of a file: it may not begin with a dash or a dot, nor hold any of "
            "/ \\ ; & | < > $ ` \" ' * ? # ! ~; choose another one"
        )
    return text


def checked_slug(value: Any, *, what: str) -> str:
    """A name that fits into an address.

    >>> checked_slug("clinic-2024", what="the name")
    'clinic-2024'
    """
    # 32 hexadecimal digits could be taken for an id.
    if not isinstance(value, str) or not _SLUG.fullmatch(value) or is_id(value):
        raise InputError(
            f"{what} must have 1 to 64 small letters, digits, dots, dashes or underscores, with a letter or digit at "
            "both ends"
        )
    return value


def checked_whole(value: Any, *, what: str, least: int, most: int) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{what} must be a whole number from {least} to {most}")
    return value


def checked_document(value: Any, *, what: str, most: int = MOST_PARTS) -> Any:
    """A document of mappings, lists, texts, numbers and truth values that JSON can hold in every database."""
    waiting: list[tuple[Any, int]] = [(value, 0)]
    parts = 0
    while waiting:
        part, depth = waiting.pop()
        parts += 1
        if parts > most:
            raise TooLargeError(f"{what} has more than {most} parts; make it smaller")
        if depth > _DEEPEST or not _is_plain(part):
            raise InputError(
                f"{what} must be a plain document: text keys, no numbers beyond 2^53, no control characters, at most "
                f"{_DEEPEST} levels deep"
            )
        if isinstance(part, list | tuple):
            waiting += [(item, depth + 1) for item in part]
        elif isinstance(part, Mapping):
            waiting += [(item, depth + 1) for item in part.values()]
    return value


def printable(text: str) -> bool:
    """Whether every character may be shown and stored.

    Control characters but line ends and tabs are not, nor halves of pairs, nor marks that turn the direction of what
    follows and so make one name look like another.

    >>> printable("Zoë, 東京"), printable("a\\0"), printable("admin\u202e")
    (True, False, False)
    """
    return _UNPRINTABLE.search(text) is None


@contextmanager
def well_formed(error: type[AegisError], sentence: str) -> Iterator[None]:
    """Read a document that somebody sent: of another shape than is expected it is this error, and no defect of ours."""
    try:
        yield
    except AegisError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError):
        raise error(sentence) from None


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, int):  # a truth value is one too
        return abs(value) <= _LARGEST
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and printable(key) for key in value)
    return value is None or isinstance(value, list | tuple)


MOST_YAML_CHARACTERS = 200_000
"""YAML is read slowly; what is larger can be written as JSON."""


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same in C, where it is installed


class _Plain(_SafeLoader):
    """The safe loader without repeated keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(keys) < len(node.value) or len(set(keys)) < len(keys):
            raise yaml.constructor.ConstructorError(None, None, "a key named twice", node.start_mark)
        return super().construct_mapping(node, deep=deep)


def parsed_document(text: str, *, what: str, most_characters: int, most_parts: int = MOST_PARTS) -> Any:
    """What a YAML or JSON text holds; ``what`` it is stands in the error."""
    if len(text) > most_characters:
        raise TooLargeError(
            f"{what} is longer than the {most_characters} characters that are accepted; make it smaller"
        )
    try:
        if text.lstrip()[:1] in ("{", "["):
            try:
                return json.loads(text, object_pairs_hook=without_repeated_keys)
            except ValueError:
                pass  # YAML has such brackets too
        if len(text) > MOST_YAML_CHARACTERS:
            raise ConfigurationError(f"YAML is read up to {MOST_YAML_CHARACTERS} characters; send {what} as JSON")
        _check_events(text, what=what, most_parts=most_parts)
        return yaml.load(text, Loader=_Plain)  # noqa: S506 - a SafeLoader that reads less
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f": see line {mark.line + 1}" if mark else ""
        raise ConfigurationError(f"{what} is not valid YAML or JSON, or names a key twice{where}") from None
    except UNREADABLE:
        raise ConfigurationError(f"{what} is nested too deep or holds a value that cannot be read") from None


def _check_events(text: str, *, what: str, most_parts: int) -> None:
    """Raise before a document is built that is deeper or larger than any honest one, or that repeats parts of itself.

    Aliases let a small text stand for a huge one.
    """
    depth = 0
    for part, event in enumerate(yaml.parse(text, Loader=_SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise ConfigurationError(f"{what} uses aliases; write out what they stand for")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST or part > 2 * most_parts:
            raise TooLargeError(f"{what} has more than {_DEEPEST} levels or {most_parts} parts; make it smaller")


# The columns and the policy of a product

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
    checked = [_checked_column(column) for column in columns]
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


def _checked_column(declared: Any) -> dict[str, str]:
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
    return None if policy is None else _policy_facts(json.dumps(policy, sort_keys=False))


@lru_cache(maxsize=4_096)
def _policy_facts(text: str) -> PolicyFacts:
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
