"""JSON that says nothing twice: of a key that is repeated one reader takes the first value, another the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


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
