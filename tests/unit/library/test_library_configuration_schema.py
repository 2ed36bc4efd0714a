"""Configurations that are written follow the documented schema, and the example's do too."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import yaml

from aegis.counts.joint import Histogram
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.library.clinic import write_clinic
from aegis.masking.configuration_file import load_configurations, save_configurations
from aegis.masking.generator import generate

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/reference/configuration.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)  # made once: `jsonschema.validate` checks it at every call


def test_the_examples_configurations_follow_the_schema_and_load(tmp_path: Path) -> None:
    write_clinic(tmp_path, rows=50)
    for file in (tmp_path / "configurations").iterdir():
        VALIDATOR.validate(yaml.safe_load(file.read_text("utf-8")))
    assert len(load_configurations(tmp_path / "configurations")) == 12


@pytest.mark.parametrize("suffix", ["yaml", "json"])
@pytest.mark.parametrize("count", [1, 20])
def test_what_is_written_follows_the_schema_and_survives(tmp_path: Path, suffix: str, count: int) -> None:
    ages = Histogram(domain=Domain.of(Kind.INTEGER, range(80)), counts=np.arange(80) + 1)
    zips = Histogram(domain=Domain.of(Kind.TEXT, [f"{z:05d}" for z in range(0, 3000, 37)]), counts=np.ones(82, int))
    made = generate({"age": ages, "zip": zips}, count=count, rng=np.random.default_rng(1))
    path = tmp_path / f"c.{suffix}"
    save_configurations(made, path)
    content = yaml.safe_load(path.read_text("utf-8")) if suffix == "yaml" else json.loads(path.read_text("utf-8"))
    VALIDATOR.validate(content)
    again = load_configurations(path)
    assert [(c.name, c.id) for c in again] == [(c.name, c.id) for c in made]
