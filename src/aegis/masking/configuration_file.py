"""Configurations in YAML and JSON files.

Four forms are read: plain ``{column: mask}``; the full form ``{aegis: 1, name: …, label: …, roles: …, masks: …}``; many
at once, ``{configurations: {name: …}}``; and the YAML of the published Aegis prototype, which is never written:
``{dataset: {target_variable: …}, masking: {attributes: {column: [{function: …, params: …}, …]}}}``. A mask
``generalize: {level: 2}`` takes the hierarchy of its column from those that are passed in, from ``hierarchies:`` in the
same file, or from a folder ``hierarchies`` beside the file; ``hierarchy: name`` takes another one of those,
``hierarchy: file.csv`` one by its path relative to the file.

What is written is one file that stands alone: the hierarchies its masks use are listed in it under ``hierarchies``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from aegis.data.hierarchy import Hierarchy, read_hierarchies
from aegis.data.output import write_text
from aegis.data.schema import Roles
from aegis.data.yaml_text import parsed, part_of
from aegis.errors import ConfigurationError, HierarchyError, InputError, OutputError
from aegis.masking.configuration import Configuration, build_mask
from aegis.masking.mask import Mask
from aegis.masking.masks.digits import EraseDigits
from aegis.masking.masks.generalize import Generalize
from aegis.masking.masks.ranges import Ranges
from aegis.masking.masks.suppress import Suppress
from aegis.masking.transition import Chain

FUNCTIONS: dict[str, tuple[type[Mask], dict[str, str]]] = {
    "erase_digits": (EraseDigits, {"num_digits": "digits"}),
    "generalize": (Ranges, {"M": "count"}),
    "suppress": (Suppress, {}),
}
"""What each function of theirs is here, and what its parameters are called."""


def masks_of_published(content: Mapping[str, Any]) -> tuple[str | None, dict[str, Mask]]:
    """The label it names, and the mask of each column."""
    attributes = content["masking"]["attributes"]
    if not isinstance(attributes, Mapping | None):
        raise ConfigurationError("masking.attributes must map each column to a list of functions")
    masks = {}
    for column, steps in (attributes or {}).items():
        listed = steps if isinstance(steps, list) else [steps]
        links = tuple(_mask(step, str(column)) for step in listed if step is not None)
        if links:
            masks[str(column)] = links[0] if len(links) == 1 else Chain(links=links)
    return _label(content.get("dataset")), masks


def _label(dataset: Any) -> str | None:
    if not isinstance(dataset, Mapping | None):
        raise ConfigurationError("dataset must be written as {target_variable: column}")
    label = (dataset or {}).get("target_variable")
    if not isinstance(label, str | None):
        raise ConfigurationError("dataset.target_variable must be the name of one column")
    return label


def _mask(step: Any, column: str) -> Mask:
    function = step.get("function") if isinstance(step, Mapping) else None
    if not isinstance(function, str) or function not in FUNCTIONS:
        functions = ", ".join(sorted(FUNCTIONS))
        raise ConfigurationError(f"column {column!r} names a masking function that is not one of {functions}")
    kind_of_mask, names = FUNCTIONS[function]
    parameters = step.get("params")
    if not isinstance(parameters, Mapping | None):
        raise ConfigurationError(f"column {column!r}: params must be written as {{name: value}}")
    unknown = sorted(set(map(str, parameters or {})) - set(names))
    if unknown:
        takes = ", ".join(names) or "no params"
        raise ConfigurationError(f"column {column!r}: {function} takes {takes}, not {', '.join(unknown)}")
    absent = sorted(set(names) - set(parameters or {}))
    if absent:
        raise ConfigurationError(f"column {column!r}: {function} needs the parameter {', '.join(absent)}")
    return kind_of_mask.from_parameters({names[str(key)]: value for key, value in (parameters or {}).items()})


VERSION = 1
LABELS_ID = "labels_id"
"""The key of a certificate's configuration that says that its masks name labels only: the id of what is stated."""
_SUFFIXES = (".yaml", ".yml", ".json")
_FULL = {"aegis", "name", "label", "roles", "masks", "hierarchies"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hierarchies:
    """Where the hierarchies of one file come from."""

    declared: Mapping[str, Hierarchy]
    inline: Mapping[str, Hierarchy]
    folder: Path | None

    def find(self, name: str) -> Hierarchy | None:
        if name in self.inline:
            return self.inline[name]
        if name in self.declared:
            return self.declared[name]
        if self.folder is None:
            return None
        if name.endswith(".csv") and (self.folder / name).is_file():
            return Hierarchy.read(self.folder / name)
        beside = self.folder / "hierarchies"
        return read_hierarchies(beside).get(name) if beside.is_dir() else None


def load_configurations(path: Path | str, *, hierarchies: Mapping[str, Hierarchy] | None = None) -> list[Configuration]:
    """All configurations of a file, or of the YAML and JSON files of a folder.

    A configuration is called what its file says, else by the file's stem.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in _SUFFIXES)
        if not files:
            raise ConfigurationError(f"the folder {path} holds no configurations; they end in {', '.join(_SUFFIXES)}")
    elif path.is_file():
        files = [path]
    else:
        raise ConfigurationError(f"there is no file or folder {path} to read configurations from")
    loaded = [configuration for file in files for configuration in _of_file(file, hierarchies or {})]
    taken: set[str] = set()
    for configuration in loaded:
        if configuration.name in taken:
            raise ConfigurationError(f"{path}: two configurations are called {configuration.name!r}; rename one")
        taken.add(configuration.name)
    return loaded


def configurations_from_mapping(
    content: Any, *, name: str, hierarchies: Mapping[str, Hierarchy] | None = None, folder: Path | None = None
) -> list[Configuration]:
    """All configurations of what a file holds, once it is parsed; ``name`` is for one that does not say its own."""
    if not isinstance(content, Mapping) or not content:
        raise ConfigurationError("a configuration is written as {column: mask}")
    if _is_published(content):
        label, masks = masks_of_published(content)
        return [Configuration(name=name, masks=masks, label=label)]
    source = _Hierarchies(declared=hierarchies or {}, inline=_inline(content), folder=folder)
    if "configurations" not in content:
        return [_one(content, name, source)]
    listed = content["configurations"]
    unknown = sorted(set(map(str, content)) - {"aegis", "label", "roles", "hierarchies", "configurations"})
    if not isinstance(listed, Mapping) or not listed or unknown:
        raise ConfigurationError("a file of many configurations is written as {configurations: {name: {column: mask}}}")
    _check_version(content)
    shared = {key: content[key] for key in ("label", "roles") if key in content}
    return [_one(_full_form(content_of, shared), str(each_name), source) for each_name, content_of in listed.items()]


def _is_published(content: Mapping[str, Any]) -> bool:
    """Whether a file holds the YAML of the published Aegis."""
    masking = content.get("masking")
    return isinstance(masking, Mapping) and "attributes" in masking


def certified_configuration(content: Mapping[str, Any]) -> Configuration:
    """The configuration that the content of a certificate states; one without masks where the table is as it was.

    Where it has a `LABELS_ID`, its masks name the labels that they wrote and not the values of the column.
    """
    stated = {key: value for key, value in content["configuration"].items() if key not in ("id", LABELS_ID)}
    if not stated.get("masks"):
        return Configuration(name="as-it-is", masks={})
    return configurations_from_mapping(stated, name="certified")[0]


def to_mapping(configuration: Configuration) -> dict[str, Any]:
    """The full form, ready for YAML or JSON."""
    hierarchies: dict[str, Hierarchy] = {}
    return {**_body(configuration, hierarchies), **_written(hierarchies)}


def many_to_mapping(configurations: Iterable[Configuration]) -> dict[str, Any]:
    """Many configurations in one file."""
    hierarchies: dict[str, Hierarchy] = {}
    bodies: dict[str, Any] = {}
    for configuration in configurations:
        body = _body(configuration, hierarchies)
        bodies[configuration.name] = {key: body[key] for key in ("label", "roles", "masks") if key in body}
    return {"aegis": VERSION, "configurations": bodies, **_written(hierarchies)}


def as_text(configurations: Iterable[Configuration], *, path: Path) -> str:
    """What a file called ``path`` says of them: JSON where its name ends so, else YAML."""
    listed = list(configurations)
    content = to_mapping(listed[0]) if len(listed) == 1 else many_to_mapping(listed)
    if path.suffix.lower() == ".json":
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)


def check_ending(path: Path) -> None:
    """Raise unless a file of this name says by its ending whether it is YAML or JSON, as folders of them are read."""
    if path.suffix.lower() not in _SUFFIXES:
        raise OutputError(f"{path} must end in {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}: YAML or JSON is written")


def save_configurations(configurations: Iterable[Configuration], path: Path | str, *, overwrite: bool = False) -> None:
    """Write them to one file."""
    check_ending(Path(path))
    write_text(Path(path), as_text(configurations, path=Path(path)), overwrite=overwrite)


def _of_file(path: Path, hierarchies: Mapping[str, Hierarchy]) -> list[Configuration]:
    try:
        text = path.read_text(encoding="utf-8")
        is_json = path.suffix.lower() == ".json"
        content = json.loads(text) if is_json else parsed(text, where=str(path), error=ConfigurationError)
    except OSError:
        raise ConfigurationError(f"the configuration file {path} cannot be opened; check its name") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise ConfigurationError(f"{path} is not valid JSON: see line {error.lineno}") from None
    try:
        if isinstance(content, Mapping):
            content = part_of(content, "configuration", where=path.name)
        return configurations_from_mapping(content, name=path.stem, hierarchies=hierarchies, folder=path.parent)
    except InputError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def _one(content: Any, name: str, source: _Hierarchies) -> Configuration:
    if not isinstance(content, Mapping):
        raise ConfigurationError(f"configuration {name!r} must be written as {{column: mask}}")
    label, roles, masks = None, Roles(), content
    if "masks" in content and isinstance(content["masks"], Mapping):
        _check_version(content)
        unknown = sorted(set(map(str, content)) - _FULL)
        if unknown:
            raise ConfigurationError(f"configuration {name!r} has unknown parts {', '.join(unknown)}")
        name = _name(content.get("name", name))
        masks = content["masks"]
        roles = Roles.from_mapping(_or_empty(content.get("roles")), where=f"configuration {name!r}")
        source = replace(source, inline={**source.inline, **_inline(content)})
        label = content.get("label", roles.label)
        if not isinstance(label, str | None):
            raise ConfigurationError(f"configuration {name!r}: label must be the name of one column")
    built: dict[str, Mask] = {}
    for column, spec in masks.items():
        column = str(column)  # YAML reads a column called 1 or true as something else
        try:
            built[column] = build_mask(spec, hierarchy=partial(_find, source, column))
        except InputError as error:
            raise ConfigurationError(f"configuration {name!r}, column {column!r}: {error}") from None
    return Configuration(name=name, masks=built, label=label, roles=roles)


def _name(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ConfigurationError("the name of a configuration must be text")
    return str(value)


def _or_empty(value: Any) -> Any:
    return {} if value is None else value


def _find(source: _Hierarchies, column: str, wanted: str | None) -> Hierarchy | None:
    return source.find(column if wanted is None else wanted)


def _full_form(content: Any, shared: Mapping[str, Any]) -> Any:
    if not shared or not isinstance(content, Mapping):
        return content
    if "masks" in content and isinstance(content["masks"], Mapping):
        return {**shared, **content}
    return {**shared, "masks": content}


def _check_version(content: Mapping[str, Any]) -> None:
    version = content.get("aegis", VERSION)
    if isinstance(version, bool) or version != VERSION:
        raise ConfigurationError(f"the configuration is of another format than {VERSION}; use a newer Aegis to read it")


def _inline(content: Mapping[str, Any]) -> dict[str, Hierarchy]:
    listed = content.get("hierarchies")
    if listed is None or not ("masks" in content or "configurations" in content):
        return {}
    if not isinstance(listed, Mapping):
        raise ConfigurationError("hierarchies must be written as {name: [[value, label, …], …]}")
    hierarchies = {}
    for name, rows in listed.items():
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise ConfigurationError(f"hierarchy {name!r} must be a list of rows, each a list of labels")
        try:
            hierarchies[str(name)] = Hierarchy.of(rows)
        except HierarchyError as error:
            raise ConfigurationError(f"hierarchy {name!r}: {error}") from None
    return hierarchies


def _body(configuration: Configuration, hierarchies: dict[str, Hierarchy]) -> dict[str, Any]:
    body: dict[str, Any] = {"aegis": VERSION, "name": configuration.name}
    if configuration.label is not None:
        body["label"] = configuration.label
    if roles := configuration.roles.to_mapping():
        body["roles"] = roles
    masks = configuration.masks.items()
    return {**body, "masks": {column: _named(mask, column, hierarchies) for column, mask in masks}}


def _named(mask: Mask, column: str, hierarchies: dict[str, Hierarchy]) -> Any:
    """The mask's spec, with its hierarchy entered under a name instead of written out."""
    if isinstance(mask, Chain):
        return [_named(link, column, hierarchies) for link in mask.links]
    if not isinstance(mask, Generalize) or mask.hierarchy is None:
        return mask.spec()
    name, number = column, 2
    while hierarchies.setdefault(name, mask.hierarchy) != mask.hierarchy:
        name, number = f"{column}-{number}", number + 1
    return {mask.name: {"level": mask.level} if name == column else {"level": mask.level, "hierarchy": name}}


def _written(hierarchies: Mapping[str, Hierarchy]) -> dict[str, Any]:
    listed = {name: [list(row) for row in hierarchy.rows] for name, hierarchy in hierarchies.items()}
    return {"hierarchies": listed} if listed else {}
