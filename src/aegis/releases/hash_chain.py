"""A chain of hashes: each entry is hashed together with the hash of the one before it.

Whoever changes, removes, inserts or reorders an entry breaks the chain from there on. The catalog's audit and the
ledger of releases are both such chains.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
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
