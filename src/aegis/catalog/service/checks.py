"""What people may write into the catalog: text of a sane length without control characters, and plain documents."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import yaml

from aegis.errors import ConfigurationError, InputError, TooLargeError

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_ID = re.compile(r"[0-9a-f]{32}")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_DEEPEST = 40
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


def checked_slug(value: Any, *, what: str) -> str:
    """A name that fits into an address.

    >>> checked_slug("clinic-2024", what="the name")
    'clinic-2024'
    """
    # 32 hexadecimal digits could be taken for an id.
    if not isinstance(value, str) or not _SLUG.fullmatch(value) or _ID.fullmatch(value):
        raise InputError(
            f"{what} must have 1 to 64 small letters, digits, dots, dashes or underscores, with a letter or digit at "
            "both ends"
        )
    return value


def is_id(value: Any) -> bool:
    """Whether it has the form of an id."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def checked_whole(value: Any, *, what: str, least: int, most: int) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{what} must be a whole number from {least} to {most}")
    return value


def checked_document(value: Any, *, what: str) -> Any:
    """A document of mappings, lists, texts, numbers and truth values that JSON can hold in every database."""
    if not _plain(value, _DEEPEST):
        raise InputError(
            f"{what} must be a plain document: text keys, no numbers beyond 2^53, no control characters, at most "
            f"{_DEEPEST} levels deep"
        )
    return value


def printable(text: str) -> bool:
    """Whether every character may be shown and stored.

    Control characters but line ends and tabs are not, nor halves of pairs, nor marks that turn the direction of what
    follows and so make one name look like another.

    >>> printable("Zoë, 東京"), printable("a\\0"), printable("admin\u202e")
    (True, False, False)
    """
    return _UNPRINTABLE.search(text) is None


def _plain(value: Any, deeper: int) -> bool:
    if deeper < 0:
        return False
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, int):
        return abs(value) <= _LARGEST
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return all(_plain(each, deeper - 1) for each in value)
    if isinstance(value, Mapping):
        return all(isinstance(k, str) and printable(k) and _plain(v, deeper - 1) for k, v in value.items())
    return False


MOST_YAML_CHARACTERS = 500_000
"""YAML is read slowly; what is larger can be written as JSON."""


class _Plain(yaml.SafeLoader):
    """The safe loader without aliases, which let a small text stand for a huge one, and without repeated keys."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.constructor.ConstructorError(None, None, "aliases are not read", None)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(keys) < len(node.value) or len(set(keys)) < len(keys):
            raise yaml.constructor.ConstructorError(None, None, "a key named twice", node.start_mark)
        return super().construct_mapping(node, deep=deep)


def parsed_document(text: str, *, most_bytes: int) -> Any:
    """What a YAML or JSON text holds."""
    if len(text) > most_bytes:
        raise TooLargeError(f"the document is larger than the {most_bytes} bytes that are accepted; split it")
    try:
        if text.lstrip()[:1] in ("{", "["):
            try:
                return json.loads(text)
            except ValueError:
                pass  # YAML has such brackets too
        if len(text) > MOST_YAML_CHARACTERS:
            raise ConfigurationError(f"YAML is read up to {MOST_YAML_CHARACTERS} characters; send it as JSON")
        return yaml.load(text, Loader=_Plain)  # noqa: S506 - a SafeLoader that reads less
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f": see line {mark.line + 1}" if mark else ""
        raise ConfigurationError(
            f"the text is not valid YAML or JSON, uses aliases, or names a key twice{where}"
        ) from None
    except (RecursionError, ValueError):
        raise ConfigurationError("the text is nested too deep or holds a value that cannot be read") from None
