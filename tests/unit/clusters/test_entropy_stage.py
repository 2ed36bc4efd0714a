"""Equation 18 against every partition of small tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from aegis.candidates.clusters.anonymizer import Anonymized
from aegis.candidates.clusters.arrays import Ints
from aegis.candidates.clusters.information_loss import centers_of, information_loss
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.records import Records
from aegis.candidates.clusters.risk import (
    class_entropies_bits,
    entropy_ceiling_bits,
    scaled_objective,
    sum_of_minima_bits,
)


def small_table(seed: int, rows: int = 9) -> Records:
    rng = np.random.default_rng(seed)
    return Records.from_arrays(
        numeric=rng.normal(size=(rows, 2)).round(2),
        categorical=rng.integers(0, 3, rows).astype(str),
        sensitive=np.column_stack([rng.integers(0, 3, rows), rng.integers(0, 2, rows)]),
    )


def partitions(rows: int, k: int) -> Iterator[Ints]:
    """Every partition into classes of at least k."""
    labels = np.zeros(rows, dtype=np.int64)

    def following(row: int, sizes: list[int]) -> Iterator[Ints]:
        if sum(max(0, k - size) for size in sizes) > rows - row:
            return
        if row == rows:
            yield labels.copy()
            return
        for chosen in range(len(sizes) + 1):
            labels[row] = chosen
            grown = [*sizes, 0] if chosen == len(sizes) else list(sizes)
            grown[chosen] += 1
            yield from following(row + 1, grown)

    return following(0, [])


def best_possible(records: Records, k: int, classes: int | None, trade_off: float) -> tuple[float, float]:
    """The least loss and the least objective of all partitions."""
    figures = [
        (
            information_loss(records, centers_of(records, labels).rows(labels)),
            sum_of_minima_bits(class_entropies_bits(labels, records.sensitive)),
        )
        for labels in partitions(len(records), k)
        if classes in (None, int(labels.max()) + 1)
    ]
    least = min(loss for loss, _ in figures)
    ceiling = entropy_ceiling_bits(records.sensitive)
    values = [
        scaled_objective(loss=loss, best_loss=least, entropy_bits=bits, ceiling_bits=ceiling, trade_off=trade_off)
        for loss, bits in figures
    ]
    return least, min(values)


@pytest.mark.parametrize(
    ("seed", "k", "classes", "trade_off"), [(0, 2, None, 1.0), (1, 3, None, 0.5), (2, 3, 2, 1.0), (3, 3, None, 0.2)]
)
def test_small_tables_are_solved_exactly(seed: int, k: int, classes: int | None, trade_off: float) -> None:
    records = small_table(seed)
    least, possible = best_possible(records, k, classes, trade_off)
    fitted = MOOBAM(k=k, classes=classes, trade_off=trade_off, rounds=2000).fit(records).result_
    assert fitted.diagnosis.best_loss == pytest.approx(least)
    assert fitted.objective == pytest.approx(possible)


def test_the_gap_speaks_of_what_was_minimised() -> None:
    records = small_table(0)
    both = MOOBAM(k=2, trade_off=1.0, rounds=200).fit(records).result_
    loss = MOOBAM(k=2, rounds=200).fit(records).result_
    assert both.objective is not None
    assert both.gap.startswith(f"objective {both.objective:.4f}")
    assert (loss.objective, loss.objective_bound) == (None, None)
    assert "best possible" in loss.gap
    assert both.objective_bound is not None
    assert both.objective >= both.objective_bound
    assert Anonymized.from_json(both.to_json()) == both


def test_without_secrets_a_trade_off_counts_for_nothing() -> None:
    records = Records.from_arrays(numeric=[1.0, 2.0, 10.0, 11.0])
    assert MOOBAM(k=2, trade_off=1.0, rounds=20).fit(records).result_.objective is None


def test_classes_are_as_many_as_asked_for_after_the_entropy_stage() -> None:
    fitted = MOOBAM(k=2, classes=3, trade_off=1.0, rounds=400).fit(small_table(5)).result_
    assert fitted.classes == 3
    assert fitted.smallest_class >= 2
