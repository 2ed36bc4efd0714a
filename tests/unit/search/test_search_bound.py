"""A bound is told where it rules something out, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from aegis.candidates.search.objective import DEFAULT_MEASURE, Objective
from aegis.candidates.search.search import search
from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.data.schema import Roles
from aegis.privacy.models.k_anonymity import KAnonymity
from aegis.privacy.policy import Policy

TOTALS = np.array([30, 20, 10])


def test_the_ceiling_is_what_the_label_itself_would_tell() -> None:
    objective = Objective.of(DEFAULT_MEASURE, TOTALS)
    shares = TOTALS / TOTALS.sum()
    assert objective.ceiling == pytest.approx(-(shares * np.log2(shares)).sum())
    unique = np.eye(3, dtype=np.int64).repeat(TOTALS, axis=0)  # every record a class of its own
    bound, _ = objective.weigh(unique, np.zeros(len(unique), dtype=bool))
    assert not objective.tells(bound)
    together = TOTALS[None, :]
    bound, _ = objective.weigh(together, np.zeros(1, dtype=bool))
    assert objective.tells(bound)


def test_accuracy_and_errors_have_their_ends_for_a_ceiling() -> None:
    assert Objective.of("leave-one-out-accuracy", TOTALS).ceiling == 1.0
    error = Objective.of("g3", TOTALS)
    assert error.tells(error.turned(0.2))  # an error of at least 0.2 is something
    assert not error.tells(error.turned(0.0))


@pytest.mark.parametrize(("repeats", "tells"), [(1, False), (12, True)])
def test_tuples_that_are_unique_have_no_bound_worth_telling(repeats: int, tells: bool) -> None:
    """Sixty records whose labels alternate: a tuple alone gives its label away, a tuple of twelve does not."""
    records = np.arange(60)
    table = ClassTable.from_codes(
        columns=("age",),
        domains=(Domain(kind=Kind.INTEGER, values=np.arange(60 // repeats)),),
        codes=(records // repeats)[:, None],
        counts=np.ones(60, dtype=np.int64),
        contents={"label": (Domain(kind=Kind.INTEGER, values=np.arange(2)), records % 2)},
    )
    policy = Policy(models=(KAnonymity(k=5),), roles=Roles(label="label", quasi_identifying=("age",)))
    found = search(table, label="label", policy=policy, space="cuts")
    assert found.bound_tells == tells
    assert found.bound >= found.best.utility - 1e-9
