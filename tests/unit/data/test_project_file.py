"""The project file: what was decided is written, read again, and read by whoever wants one part of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aegis.data.project import Project, read_project
from aegis.data.schema import Roles, read_roles
from aegis.errors import ConfigurationError, ProjectError
from aegis.masking.configuration_file import load_configurations
from aegis.privacy.policy import Policy

ROLES = Roles(label="y", quasi_identifying=("age", "zip"), insensitive=("n",))
POLICY = {"quasi_identifying": ["age", "zip"], "k": 5, "max_suppression": 0.02}


def _project(folder: Path) -> Project:
    return Project(
        path=folder / "aegis.yaml",
        data="mine.csv",
        reading={"missing": ["?"], "delimiter": ";"},
        roles=ROLES,
        purpose="partner",
        policy=POLICY,
        chosen={"name": "g1", "kind": "masks"},
        configuration={"age": {"bucketize": {"width": 10}}, "zip": "suppress"},
        seed=3,
    )


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    project = _project(tmp_path).write()
    assert read_project(project.path) == project


def test_a_project_is_a_roles_file_a_policy_and_a_configuration(tmp_path: Path) -> None:
    path = _project(tmp_path).write().path
    assert read_roles(path).roles == ROLES
    assert read_roles(path).missing == ("?",)
    assert Policy.read(path) == Policy.from_mapping(POLICY)
    (configuration,) = load_configurations(path)
    assert configuration.columns == ("age", "zip") or set(configuration.masks) == {"age", "zip"}


@pytest.mark.parametrize("part", ["roles", "policy", "configuration"])
def test_a_part_that_was_not_decided_yet_is_said(tmp_path: Path, part: str) -> None:
    nothing: dict[str, Any] = {part: None}
    path = replace(_project(tmp_path), **nothing).write().path
    readers = {"roles": read_roles, "policy": Policy.read, "configuration": load_configurations}
    with pytest.raises((ProjectError, ConfigurationError), match=f"has no {part} yet; aegis start goes on"):
        readers[part](path)


def test_the_table_of_a_project_is_known_by_every_spelling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = _project(tmp_path).write()
    monkeypatch.chdir(tmp_path)
    assert project.is_about("mine.csv")
    assert project.is_about(tmp_path / "mine.csv")
    assert project.is_about("./mine.csv")
    assert not project.is_about("other.csv")
    assert not project.is_about("postgres://host/mine.csv")


YAML_MISFITS = ("int ''", "bool yesterday", "timestamp 5", "set [1]")
"""Tags with values that they do not fit: PyYAML stumbles over each in another way."""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("k: 5\n", "is no project file"),
        ("aegis_project: 7\ndata: x.csv\n", "another version"),
        ("aegis_project: 1\n", "data must name the table"),
        ("aegis_project: 1\ndata: x.csv\npolice: {}\n", "unknown parts police"),
        ("aegis_project: 1\ndata: x.csv\npolicy: 5\n", "policy must be a mapping"),
        ("aegis_project: 1\ndata: x.csv\nreading: {misssing: 1}\n", "unknown options misssing"),
        ("aegis_project: 1\ndata: x.csv\nseed: many\n", "seed must be a whole number"),
        ("aegis_project: 1\ndata: x.csv\npurpose: [a]\n", "purpose must be a word"),
        ("aegis_project: 1\ndata: x.csv\nroles: {label: [a, b]}\n", "label must be the name of one column"),
        ("aegis_project: [\n", "not valid YAML"),
        ("aegis_project: 1\ndata: x.csv\ndata: y.csv\n", "aegis.yaml names a key twice in line 3"),
        ("aegis_project: 1\ndata: x.csv\nroles: {label: a, label: b}\n", "names a key twice in line 3"),
        ("aegis_project: 1\ndata: 2024-13-45\n", "not valid YAML"),
        ("aegis_project: 1\ndata: " + "[" * 5_000, "not valid YAML"),
        *((f"aegis_project: 1\ndata: !!{misfit}\n", "not valid YAML") for misfit in YAML_MISFITS),
    ],
)
def test_a_project_that_is_none_is_said_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "aegis.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProjectError, match=said):
        read_project(path)
