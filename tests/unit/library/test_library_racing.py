"""The race as `advise` and `summarize` run it: what was worked out for the counts is not worked out again for rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import aegis
import aegis.learners.candidate as race_candidate
from aegis.masking.mask import Mask
from aegis.masking.masks.identity import Identity
from aegis.masking.transition import Transition, transition


@pytest.mark.parametrize("question", ["advise", "summarize"])
def test_a_mask_is_worked_out_once_for_counts_and_race(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    again: list[Mask] = []

    def counted(mask: Mask, *known: Any) -> Transition:
        again.append(mask)
        return transition(mask, *known)

    monkeypatch.setattr(race_candidate, "transition", counted)
    rng = np.random.default_rng(0)
    age = rng.integers(20, 60, 600)
    table = pa.table(
        {"age": age, "town": rng.choice(["ulm", "bonn", "jena"], 600), "ill": np.where(age > 40, "yes", "no")}
    )
    answer = getattr(aegis, question)(table, label="ill", generate=8, seed=0)
    assert answer is not None
    assert all(isinstance(mask, Identity) for mask in again)  # of columns that every configuration masks
