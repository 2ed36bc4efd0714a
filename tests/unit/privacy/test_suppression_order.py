"""Which classes join the suppressed ones is decided by what they hold, not by how their tuples are numbered."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.counts.class_table import ClassTable
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.privacy.judgement import judge_all
from aegis.privacy.policy import Policy

ENTROPY = Policy.from_mapping(
    {
        "quasi_identifying": ["a"],
        "sensitive": ["s"],
        "l": {"s": {"kind": "entropy", "l": 1.5}},
        "max_suppression": 0.2,
        "suppressed": "judged",
    }
)


def table(counts: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> ClassTable:
    """A class in each line, with how often each of three illnesses occurs in it."""
    classes, values = counts.shape
    return ClassTable.from_codes(
        columns=["a"],
        domains=[Domain.of(Kind.INTEGER, list(range(classes)))],
        codes=np.repeat(np.arange(classes), values)[:, None],
        counts=counts.ravel(),
        contents={
            "s": (Domain.of(Kind.TEXT, [f"s{i}" for i in range(values)]), np.tile(np.arange(values), classes)),
        },
    )


def test_a_class_that_can_help_joins_whatever_its_number() -> None:
    """Of two classes of six, one makes the suppressed class of five alike diverse, and the other does not."""
    counts = np.array([[5, 0, 0], [5, 1, 0], [2, 2, 2], [9, 9, 9], [8, 9, 9]])
    for order in ([0, 1, 2, 3, 4], [0, 2, 1, 3, 4], [4, 1, 3, 2, 0]):
        judgement = judge_all(table(counts[order]), ENTROPY)
        assert judgement.satisfied
        assert judgement.suppressed == 11


@given(
    st.lists(st.tuples(*[st.integers(0, 4)] * 3).filter(any), min_size=2, max_size=12),
    st.randoms(use_true_random=False),
)
@settings(max_examples=150, deadline=None)
def test_a_judgement_does_not_depend_on_the_numbers_of_the_classes(rows: list[tuple[int, ...]], random: Random) -> None:
    counts = np.array(rows, dtype=np.int64)
    order = list(range(len(rows)))
    random.shuffle(order)
    first, second = judge_all(table(counts), ENTROPY), judge_all(table(counts[order]), ENTROPY)
    assert (first.satisfied, first.suppressed, first.classes) == (second.satisfied, second.suppressed, second.classes)
