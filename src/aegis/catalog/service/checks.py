"""What people may write into the catalog: text of a sane length without control characters, and plain documents."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import yaml

from aegis.catalog.database.tables import is_id
from aegis.data.yaml_text import UNREADABLE
from aegis.errors import AegisError, ConfigurationError, InputError, TooLargeError
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
