"""Figures on public data: those of an independent oracle, and those published for German credit and Adult."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.model import ShareModel
from aegis.privacy.models.risks import HomogeneityRisk, LinkageRisk

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("AEGIS_DATASETS", ROOT.parent / "shared" / "datasets"))
pytestmark = [
    pytest.mark.datasets,
    pytest.mark.skipif(not (FOLDER / "adult").exists(), reason="the public benchmark data is not here"),
]
ORACLE = json.loads((ROOT / "benchmarks" / "results" / "privacy_oracle.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("privacy_oracle", ROOT / "benchmarks" / "privacy_oracle.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("position", range(len(ORACLE["cases"])))
def test_our_values_are_those_of_the_oracle(benchmark: ModuleType, position: int) -> None:
    case = ORACLE["cases"][position]
    theirs = ORACLE["oracle"]["answers"][position]["values"]
    ours, _ = benchmark.our_values(benchmark.read_columns(FOLDER / case["file"]), case)
    assert ours == pytest.approx(case["ours"], nan_ok=True)
    agreement: dict[str, str] = benchmark.compared(ours, theirs)
    assert agreement == case["agreement"]
    assert "DIFFERENT" not in agreement.values()
    assert all(agreement[key] == "equal" for key in ("k", "alpha", "distinct_l", "basic_beta", "t"))


def counted(file: str, quasi: list[str], sensitive: list[str]) -> ClassTable:
    with (FOLDER / file).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))

    def coded(name: str) -> tuple[Domain, Any]:
        values, codes = np.unique(np.array([row[name] for row in rows], dtype=object), return_inverse=True)
        return Domain(kind=Kind.TEXT, values=values), codes

    columns = [coded(name) for name in quasi]
    return ClassTable.from_codes(
        columns=quasi,
        domains=[domain for domain, _ in columns],
        codes=np.column_stack([codes for _, codes in columns]),
        counts=np.ones(len(rows), dtype=np.int64),
        contents={name: coded(name) for name in sensitive},
    )


def at_risk(table: ClassTable, model: ShareModel) -> int:
    """How many records are in a class that the model calls exposed."""
    return int(table.sizes[model.risks(table) > 0].sum())


def test_the_published_risks_of_german_credit_and_adult() -> None:
    german = counted(
        "german/german_credit_labelled.csv", ["age", "personal_status", "job"], ["checking_status", "savings_status"]
    )
    assert german.classes == 310
    assert [at_risk(german, LinkageRisk(tau=tau)) for tau in (0.05, 0.075, 0.1)] == [959, 828, 698]
    constant = HomogeneityRisk(attributes=tuple(german.contents))
    assert at_risk(german, constant) == 279  # 275 in print, which no reading gives
    adult = counted("adult/adult_complete_45222.csv", ["age", "race", "sex", "marital-status"], ["occupation"])
    assert adult.classes == 1900
    assert [at_risk(adult, LinkageRisk(tau=tau)) for tau in (0.05, 0.075, 0.1)] == [6506, 4906, 3910]
    assert at_risk(adult, HomogeneityRisk(attributes=("occupation",))) == 634
