"""The pages about models and policies say what the code does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
from tests.contracts.asked_models import ways_to_use

from aegis.privacy.model import MODELS
from aegis.privacy.policy import Policy

ROOT = Path(__file__).parents[3]
THEORY = (ROOT / "docs" / "theory" / "privacy-models.md").read_text(encoding="utf-8")
CONCEPT = (ROOT / "docs" / "concepts" / "policy.md").read_text(encoding="utf-8")


def test_every_policy_on_the_page_can_be_read() -> None:
    examples = re.findall(r"```yaml\n(.*?)```", CONCEPT, flags=re.DOTALL)
    assert len(examples) == 3
    policies = [Policy.from_yaml(example) for example in examples]
    assert max(len(policy.models) for policy in policies) >= 12


def test_every_model_has_its_row_with_the_flags_it_declares() -> None:
    rows = {
        cells[1].strip(" `"): (cells[-3].strip(), cells[-2].strip())
        for line in THEORY.splitlines()
        if line.startswith("| `") and len(cells := line.replace("\\|", "/").split("|")) >= 6
    }
    missing = sorted(set(MODELS) - set(rows))
    assert not missing, f"docs/theory/privacy-models.md has no row for {', '.join(missing)}"
    assert set(rows) == set(MODELS)
    for name, (monotone, absorbing) in rows.items():
        model = MODELS[name].from_parameters(ways_to_use(name, of=("s",))[0][1](np.random.default_rng(0)))
        assert monotone.startswith("yes") == model.monotone, f"the row of {name} and its flag differ on monotone"
        said = absorbing == "yes" or (absorbing == "if the share is 0" and model.threshold == 0)
        assert said == model.absorbing, f"the row of {name} and its flag differ on absorbing"


def test_the_figures_about_the_oracle_are_in_its_result() -> None:
    result = json.loads((ROOT / "benchmarks" / "results" / "privacy_oracle.json").read_text(encoding="utf-8"))
    assert result["oracle"]["pycanon"] == "1.3.6"
    assert len(result["cases"]) == 7
    largest = result["cases"][-1]
    assert len(largest["quasi"]) == 7
    assert "took pyCANON 15 CPU-seconds and us 0.4 milliseconds" in THEORY
    assert round(result["oracle"]["answers"][-1]["t_cpu_s"]) == 15
    assert np.isclose(largest["ours_t_cpu_s"], 0.0004, atol=5e-5)
    by_sex = next(case for case in result["cases"] if case["quasi"] == ["sex"] and case["sensitive"] == "income")
    assert round(by_sex["ours"]["recursive_c"], 1) == 7.8
    assert by_sex["ours"]["recursive_c_as_pycanon"] == 1
    for key in ("k", "alpha", "distinct_l", "basic_beta", "t"):
        assert all(case["agreement"][key] == "equal" for case in result["cases"])
