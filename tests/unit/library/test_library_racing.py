"""The race as `advise` and `summarize` run it: what was worked out for the counts is not worked out again for rows."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import aegis
from aegis.data.domain import Domain
from aegis.masking.mask import Mask
from aegis.masking.transition import Transition, transition


@pytest.mark.parametrize("question", ["advise", "summarize"])
def test_a_mask_is_worked_out_once_to_be_drawn_and_counted_and_raced(
    question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked_out: Counter[tuple[str, Mask]] = Counter()

    def counted(mask: Mask, domain: Domain, counts: Any) -> Transition:
        worked_out[str(domain.values), mask] += 1
        return transition(mask, domain, counts)

    for module in ("counts.joint", "masking.generator", "counts.summary", "learners.candidate"):
        if hasattr(import_module(f"aegis.{module}"), "transition"):
            monkeypatch.setattr(f"aegis.{module}.transition", counted)
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, 600)
    table = pa.table(
        {"age": age, "town": rng.choice(["ulm", "bonn", "jena"], 600), "ill": np.where(age > 40, "yes", "no")}
    )
    answer = getattr(aegis, question)(table, label="ill", generate=8, seed=0)
    assert answer is not None
    assert len(worked_out) > 8
    assert set(worked_out.values()) == {1}
