"""The small YAML beside the data that says what part each column plays."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aegis.data.schema import Roles
from aegis.data.yaml_text import read_mapping
from aegis.errors import RoleError


@dataclass(frozen=True, slots=True, kw_only=True)
class RolesFile:
    """Roles, and the texts that mean a missing value."""

    roles: Roles = field(default_factory=Roles)
    missing: tuple[str, ...] = ()


def roles_path(data: Path) -> Path:
    """Where the roles of a data file are looked for.

    >>> roles_path(Path("folder/clinic.csv")).as_posix()
    'folder/clinic.roles.yaml'
    """
    if data.name in ("", ".."):  # "." and ".." are folders with names too
        data = data.resolve()
    return data.parent / f"{data.name.split('.')[0]}.roles.yaml"


def roles_beside(source: Any) -> RolesFile:
    """The roles file of a source, empty where there is none."""
    if not isinstance(source, str | Path) or "://" in str(source):
        return RolesFile()
    path = roles_path(Path(source))
    try:
        beside = path.exists()
    except (OSError, ValueError):  # not a path at all; opening it says so
        beside = False
    return read_roles(path) if beside else RolesFile()


def read_roles(path: Path) -> RolesFile:
    """Read ``{label: …, quasi_identifying: […], …, missing: ["?"]}``."""
    content = dict(read_mapping(path, error=RoleError))
    missing = content.pop("missing", [])
    if isinstance(missing, str):
        missing = [missing]
    if not isinstance(missing, list) or not all(isinstance(text, str) for text in missing):
        raise RoleError(f"{path.name}: missing must be a list of texts")
    return RolesFile(roles=Roles.from_mapping(content, where=path.name), missing=tuple(missing))
