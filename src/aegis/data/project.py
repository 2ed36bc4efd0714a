"""The project file: what was decided about a table, in one YAML file that every later command reads.

``aegis start`` writes it and fills it step by step, so it also says how far somebody came. It is a roles file, a policy
and a configuration at once: whoever reads one of these from a file takes its part (`part_of`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aegis.data.output import PRIVATE, draft_of
from aegis.data.schema import NOTATIONS, Roles
from aegis.data.yaml_text import MARK, dump, read_mapping
from aegis.errors import ProjectError, RoleError

PROJECT_FILE = "aegis.yaml"
FORMAT = 1
_HEAD = (
    "# What was decided about this table; aegis start writes it, every command in this folder reads it.\n"
    "# Masks may list values of their column: it stays with the table and goes to nobody with the release.\n"
)
_READING = ("delimiter", "encoding", "missing", *NOTATIONS, "table", "engine")
_KEYS = (
    *(MARK, "data", "reading", "roles", "label_bins", "purpose", "policy", "candidates", "chosen", "configuration"),
    *("release", "seed"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What was decided so far; a part that is None was not decided yet.

    ``data`` is as a command takes it, relative to the project file. ``policy`` and ``configuration`` are mappings as
    their own files hold them. ``candidates`` says which kinds were made and how, ``chosen`` which one was taken
    (``name`` and ``kind``, and the ``method`` that makes its table where it is none of masks), ``release`` what left
    (``out``, ``certificate``, ``ledger``, ``attacks``).
    """

    path: Path
    data: str
    reading: Mapping[str, Any] = field(default_factory=dict)
    roles: Roles | None = None
    label_bins: int | None = None
    purpose: str | None = None
    policy: Mapping[str, Any] | None = None
    candidates: Mapping[str, Any] | None = None
    chosen: Mapping[str, str] | None = None
    configuration: Mapping[str, Any] | None = None
    release: Mapping[str, Any] | None = None
    seed: int = 0

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def has_roles(self) -> bool:
        """Whether the roles are decided; whoever left in the middle has named the label and no more."""
        return self.roles is not None and bool(self.roles.quasi_identifying)

    @property
    def is_decided(self) -> bool:
        """Whether roles, policy and a candidate are: masks, or a method that makes a table."""
        has_candidate = self.configuration is not None or "method" in (self.chosen or {})
        return self.has_roles and self.policy is not None and has_candidate

    @property
    def source(self) -> str:
        """The data as a command takes it from where it runs: a URL as it is, a file by its path."""
        if "://" in self.data or self.reading.get("engine") or Path(self.data).is_absolute():
            return self.data
        return str(self.folder / self.data)

    def path_of(self, name: str) -> Path:
        """A file that the project names, from where the command runs."""
        return Path(name) if Path(name).is_absolute() else self.folder / name

    def is_about(self, data: object) -> bool:
        """Whether ``data`` is the table of this project."""
        if str(data) in (self.data, self.source):
            return True
        try:
            return "://" not in str(data) and Path(str(data)).resolve() == Path(self.source).resolve()
        except (OSError, ValueError):
            return False

    def to_mapping(self) -> dict[str, Any]:
        """The form that is written: only what is decided."""
        parts: dict[str, Any] = {
            MARK: FORMAT,
            "data": self.data,
            "reading": dict(self.reading),
            "roles": None if self.roles is None else self.roles.to_mapping(),
            "label_bins": self.label_bins,
            "purpose": self.purpose,
            "policy": self.policy,
            "candidates": self.candidates,
            "chosen": self.chosen,
            "configuration": self.configuration,
            "release": self.release,
            "seed": self.seed or None,
        }
        return {name: part for name, part in parts.items() if part is not None and part != {}}

    def write(self) -> Project:
        """Write it, whole or not at all; answers itself. Masks may list values, so only its owner can read it."""
        with draft_of(self.path, overwrite=True, mode=PRIVATE) as draft:
            draft.write_text(_HEAD + dump(self.to_mapping()), encoding="utf-8")
        return self

    def without_choice(self) -> Project:
        """What is left where a new choice is to be made: data, roles and policy."""
        return replace(self, chosen=None, configuration=None, release=None)


def read_project(path: Path) -> Project:
    """Read what `Project.write` wrote, or somebody edited."""
    content = read_mapping(path, error=ProjectError)
    if MARK not in content:
        raise ProjectError(f"{path.name} is no project file: it does not begin with {MARK}; aegis start writes one")
    if content[MARK] != FORMAT:
        raise ProjectError(f"{path.name} is of another version of the format; this one reads {MARK}: {FORMAT}")
    unknown = sorted(set(content) - set(_KEYS))
    if unknown:
        raise ProjectError(f"{path.name} has unknown parts {', '.join(unknown)}; there are {', '.join(_KEYS[1:])}")
    data = content.get("data")
    if not isinstance(data, str) or not data:
        raise ProjectError(f"{path.name}: data must name the table")
    for name in ("reading", "roles", "policy", "candidates", "chosen", "configuration", "release"):
        if not isinstance(content.get(name, {}), dict):
            raise ProjectError(f"{path.name}: {name} must be a mapping")
    chosen = content.get("chosen", {})
    if "method" in chosen and not all(isinstance(chosen.get(name), str) for name in ("name", "kind", "method")):
        raise ProjectError(f"{path.name}: chosen must say name, kind and method in a word each")
    reading = dict(content.get("reading", {}))
    strange = sorted(set(reading) - set(_READING))
    if strange:
        raise ProjectError(f"{path.name}: reading has unknown options {', '.join(strange)}")
    for name in ("missing", *NOTATIONS):
        listed = reading.get(name, [])
        if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
            raise ProjectError(f"{path.name}: reading: {name} must be a list of texts")
    if not isinstance(content.get("purpose", ""), str):
        raise ProjectError(f"{path.name}: purpose must be a word")
    bins, seed = content.get("label_bins"), content.get("seed", 0)
    for name, number in (("label_bins", bins), ("seed", seed)):
        if number is not None and (not isinstance(number, int) or isinstance(number, bool)):
            raise ProjectError(f"{path.name}: {name} must be a whole number")
    try:
        roles = None if "roles" not in content else Roles.from_mapping(content["roles"], where=f"{path.name}: roles")
    except RoleError as error:
        raise ProjectError(str(error)) from None
    return Project(
        path=path,
        data=data,
        reading=reading,
        roles=roles,
        label_bins=bins,
        purpose=content.get("purpose"),
        policy=content.get("policy"),
        candidates=content.get("candidates"),
        chosen=content.get("chosen"),
        configuration=content.get("configuration"),
        release=content.get("release"),
        seed=seed,
    )
