"""What a command line leaves out and the project file says: the table, how it is read, roles, policy and masks.

A command that is run where an ``aegis.yaml`` lies, or on the table of one, takes from there what nobody typed, and says
so. What is typed goes first; a table that is not the project's takes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aegis.commands.fields import READING
from aegis.operation import listed

if TYPE_CHECKING:
    from aegis.data.project import Project

PROJECT_FILE = "aegis.yaml"
_COLUMNS = ("decimal_comma", "day_first", "month_first")

USES: Mapping[str, tuple[str, ...]] = {
    "inspect": ("data", *READING, "roles"),
    "advise": ("data", *READING, "roles", "policy", "label_bins"),
    "search": ("data", *READING, "roles", "policy"),
    "check": ("data", *READING, "roles", "policy"),
    "release": ("data", *READING, "roles", "policy", "config"),
    "apply": ("data", *READING, "roles", "config"),
    "generate": ("data", *READING, "roles"),
    "summarize": ("data", *READING, "roles", "label_bins"),
    "evaluate": ("data", *READING, "roles"),
    "attack": ("releases", "original", *READING, "roles", "policy"),
    "verify": ("release", "certificate"),
}
"""The options of each command that a project can give; what is not listed reads no project."""


def completed(command: str, typed: Mapping[str, Any], arguments: list[str]) -> tuple[list[str], str]:
    """The words of a command line with what the project adds, and a sentence that says what that was.

    ``typed`` holds what was given, by the name of the option; None for what was not.
    """
    uses = USES.get(command)
    if uses is None:
        return arguments, ""
    first = next(name for name in ("data", "original", "release") if name in uses)
    first_value = typed.get(first)
    if typed.get("rows_of") is not None:  # a finished table: roles and policy are those of the table it was made of
        first_value, uses = typed["rows_of"], tuple(name for name in uses if name not in ("data", "config"))
    project = _project(first_value if first != "release" else None)
    if project is None or (first_value is not None and first != "release" and not project.is_about(first_value)):
        return arguments, ""
    defaults = {name: _words(name, project) for name in uses if typed.get(name) in (None, (), [])}
    if first == "release" and typed.get("release") is not None:
        return arguments, ""  # a release that somebody names has its certificate named too
    added = {name: words for name, words in defaults.items() if words}
    if not added:
        return arguments, ""
    positional = [word for name in ("data", "releases", "release", "certificate") for word in added.get(name, ())]
    options = [word for name, words in added.items() if name not in _POSITIONAL for word in words]
    return [*arguments, *options, *positional], f"from {project.path}: {', '.join(_said(name) for name in added)}"


_POSITIONAL = ("data", "releases", "release", "certificate")


def _project(data: object) -> Project | None:
    """The project here, or beside the table that was named."""
    here = Path(PROJECT_FILE)
    beside = here
    if isinstance(data, str) and "://" not in data:
        beside = Path(data).parent / PROJECT_FILE
    path = beside if beside.is_file() else here
    if not path.is_file():
        return None
    from aegis.data.project import read_project

    return read_project(path)


def _words(name: str, project: Project) -> tuple[str, ...]:
    """What a project gives for an option, as it would be typed; nothing where it says nothing of it."""
    file = str(project.path)
    released = project.release or {}
    if name in READING:
        value = project.reading.get(name)
        values = value if isinstance(value, list) else [] if value is None else [value]
        if name in _COLUMNS and values:
            return (f"--{name.replace('_', '-')}", listed(values))
        return tuple(word for part in values for word in (f"--{name}", str(part)))
    words_of: Mapping[str, Callable[[], tuple[str, ...]]] = {
        "data": lambda: (project.source,),
        "original": lambda: ("--original", project.source),
        "roles": lambda: ("--roles", file) if project.roles is not None else (),
        "policy": lambda: ("--policy", file) if project.policy is not None else (),
        "config": lambda: ("--config", file) if project.configuration is not None else (),
        "label_bins": lambda: ("--label-bins", str(project.label_bins)) if project.label_bins else (),
        "releases": lambda: (str(project.path_of(released["out"])),) if "out" in released else (),
        "release": lambda: (str(project.path_of(released["out"])),) if "out" in released else (),
        "certificate": lambda: (str(project.path_of(released["certificate"])),) if "certificate" in released else (),
    }
    return words_of[name]()


def _said(name: str) -> str:
    return name.replace("_", " ")
