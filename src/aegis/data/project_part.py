"""One part of a project file, for whoever reads a file of roles, a policy or a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aegis.errors import ProjectError

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
