"""JSON whose hash is stated: it says nothing twice, and in a chain each document is hashed with the one before it.

Of a key that is repeated one reader takes the first value, another the last. Whoever changes, removes, inserts or
reorders an entry breaks the chain from there on: the catalog's audit and the ledger of releases are such chains.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

START = "0" * 64
"""What the first entry says came before it."""


def link(previous: str, content: Mapping[str, Any]) -> str:
    """The hash of an entry: over the hash before it and everything the entry says, whatever the order of its keys.

    >>> link(START, {"a": 1, "b": 2}) == link(START, {"b": 2, "a": 1})
    True
    >>> link(START, {"a": 1}) == link("f" * 64, {"a": 1})
    False
    """
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256((previous + text).encode()).hexdigest()


class RepeatedKeyError(ValueError):
    """A JSON object has a key more than once."""


def without_repeated_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs, to be given to ``json.loads`` as ``object_pairs_hook``.

    >>> import json
    >>> json.loads('{"k": 5}', object_pairs_hook=without_repeated_keys)
    {'k': 5}
    """
    content = dict(pairs)
    if len(content) != len(pairs):
        raise RepeatedKeyError("a key stands twice in one object")
    return content
