"""YAML in and out, safely: plain data, keys named once, errors that name file and line; parts of a project file."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml

from aegis.errors import AegisError, ProjectError


def read_mapping(path: Path, *, error: type[AegisError]) -> dict[str, Any]:
    """The mapping in a YAML or JSON file."""
    try:
        content = parsed(path.read_text(encoding="utf-8"), where=path.name, error=error)
    except FileNotFoundError:
        raise error(f"there is no file {path}; check the path") from None
    except UnicodeDecodeError:
        raise error(f"{path.name} is not UTF-8 text; save it as UTF-8") from None
    except OSError as problem:
        raise error(f"{path.name} cannot be read: {problem.strerror}") from None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise error(f"{path.name} must hold a mapping with text keys at its top level")
    return content


class _KeysOnce(yaml.SafeLoader):
    """The safe loader, except that a key named twice is an error: the last one would win in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[Any] = set()
        for key_node in (key_node for key_node, _ in node.value if key_node.tag != "tag:yaml.org,2002:merge"):
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):  # others the safe loader refuses itself
                if key in keys:  # which is not told: it may be a value
                    raise yaml.constructor.ConstructorError(None, None, _TWICE, key_node.start_mark)
                keys.add(key)
        return super().construct_mapping(node, deep=deep)


_TWICE = "names a key twice"

UNREADABLE = (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What PyYAML raises of what it cannot read: days that no calendar has, great depth, tags that values do not fit."""


def parsed(text: str, *, where: str, error: type[AegisError]) -> Any:
    """What a YAML text holds; ``where`` is what an error calls it."""
    try:
        return yaml.load(text, Loader=_KeysOnce)  # noqa: S506 - a SafeLoader
    except UNREADABLE as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark is not None else ""
        what = _TWICE if getattr(problem, "problem", None) == _TWICE else "is not valid YAML"
        raise error(f"{where} {what}{line}; correct it there") from None


def read_value(text: str) -> Any:
    """A single value as somebody typed it: a number, a word, a list, a mapping. `ValueError` where it is none.

    >>> read_value("[1, 2]"), read_value("high"), read_value("0.5")
    ([1, 2], 'high', 0.5)
    """
    try:
        return yaml.load(text, Loader=_WithoutAliases)  # noqa: S506 - a SafeLoader
    except UNREADABLE:
        raise ValueError("not a value in YAML") from None


class _WithoutAliases(yaml.SafeLoader):
    """YAML without aliases: a few lines of those can stand for more than any memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError
        return super().compose_node(parent, index)


def number_hint(value: object) -> str:
    """What to do where YAML made text of a number: its version 1.1 asks for a point and a sign.

    >>> number_hint("1e300"), number_hint("ten")
    ('; YAML takes a number written like 1e3 for text, so write it like 1.0e+3', '')
    """
    if not isinstance(value, str) or "e" not in value.lower():
        return ""
    try:
        float(value)
    except ValueError:
        return ""
    return "; YAML takes a number written like 1e3 for text, so write it like 1.0e+3"


def dump(content: Any) -> str:
    """YAML as people write it: block style, keys in the order given."""
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)


MARK = "aegis_project"
"""The key that a project file begins with; its value is the version of the format."""


def part_of(content: Mapping[str, Any], part: str, *, where: str) -> Mapping[str, Any]:
    """One part of a project file, or the content itself where it is none.

    >>> part_of({"aegis_project": 1, "policy": {"k": 5}}, "policy", where="aegis.yaml")
    {'k': 5}
    >>> part_of({"k": 5}, "policy", where="policy.yaml")
    {'k': 5}
    """
    if MARK not in content:
        return content
    chosen = content.get(part)
    if not isinstance(chosen, Mapping):
        raise ProjectError(f"{where} has no {part} yet; aegis start goes on where it was left")
    return chosen
