"""A label beside mixed secrets: equation 18 with the label's deviation as one more term of the loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from aegis.arrays import Ints
from aegis.candidates.clusters import optimise
from aegis.candidates.clusters.information_loss import Scale, centers_of, information_loss
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.outcome import (
    Anonymized,
    class_entropies_bits,
    entropy_ceiling_bits,
    scaled_objective,
    sum_of_minima_bits,
)
from aegis.candidates.clusters.records import Records


def patients(rows: int, seed: int) -> tuple[Records, Ints]:
    """An age, a town and two secrets; a label that has little to do with them."""
    rng = np.random.default_rng(seed)
    records = Records.from_columns(
        {
            "age": rng.integers(20, 80, rows),
            "town": rng.choice(["a", "b"], rows),
            "ill": rng.integers(0, 3, rows),
            "pay": rng.integers(0, 2, rows),
        },
        quasi_identifiers=["age", "town"],
        sensitive=["ill", "pay"],
    )
    return records, rng.integers(0, 2, rows)


def partitions(rows: int, k: int) -> Iterator[Ints]:
    """Every partition into classes of at least k."""

    def following(labels: tuple[int, ...], sizes: tuple[int, ...]) -> Iterator[Ints]:
        if sum(max(0, k - size) for size in sizes) > rows - len(labels):
            return
        if len(labels) == rows:
            yield np.array(labels)
            return
        for c in range(len(sizes)):
            yield from following((*labels, c), (*sizes[:c], sizes[c] + 1, *sizes[c + 1 :]))
        yield from following((*labels, len(sizes)), (*sizes, 1))

    return following((), ())


def lost_of_label(label: Ints, labels: Ints) -> float:
    """The share of the label's deviation from its mean that is left within classes."""
    means = np.bincount(labels, weights=label) / np.bincount(labels)
    return float(((label - means[labels]) ** 2).sum() / ((label - label.mean()) ** 2).sum())


@pytest.mark.parametrize("most", [0, 12])
@pytest.mark.parametrize(
    ("seed", "scale", "weight", "trade_off"), [(0, "raw", 1.0, 1.0), (1, "raw", 0.3, 0.5), (2, "standardised", 2.0, 1)]
)
def test_ten_records_are_solved_exactly(
    seed: int, scale: Scale, weight: float, trade_off: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, label = patients(10, seed)
    figures = [
        (
            information_loss(records, centers_of(records, labels).rows(labels), scale=scale)
            + weight * lost_of_label(label, labels),
            sum_of_minima_bits(class_entropies_bits(labels, records.sensitive)),
        )
        for labels in partitions(10, 3)
    ]
    least = min(loss for loss, _ in figures)
    ceiling = entropy_ceiling_bits(records.sensitive)
    possible = min(
        scaled_objective(loss=loss, best_loss=least, entropy_bits=bits, ceiling_bits=ceiling, trade_off=trade_off)
        for loss, bits in figures
    )
    monkeypatch.setattr(optimise, "MOST_RECORDS", most)  # searched, though it could be gone through
    fitted = MOOBAM(k=3, scale=scale, label_weight=weight, trade_off=trade_off, rounds=2000).fit(records, label)
    result = fitted.result_
    assert result.label_loss == pytest.approx(weight * lost_of_label(label, fitted.labels_))
    assert result.diagnosis.best_loss == pytest.approx(least)
    assert result.objective == pytest.approx(possible)
    assert result.objective is not None
    assert result.objective_bound is not None
    assert result.objective >= result.objective_bound - 1e-9
    assert result.gap.startswith(f"objective {result.objective:.4f}")
    assert Anonymized.from_json(result.to_json()) == result


@pytest.mark.parametrize("trade_off", [0.1, 1.0])
def test_the_label_and_the_secrets_both_have_a_say(trade_off: float) -> None:
    records, label = patients(200, 3)
    plain = MOOBAM(k=5, classes=8, trade_off=trade_off, rounds=1000).fit(records, label)
    aware = MOOBAM(k=5, classes=8, trade_off=trade_off, label_weight=1.0, rounds=1000).fit(records, label)
    unmixed = MOOBAM(k=5, classes=8, label_weight=1.0, rounds=500).fit(records, label)
    assert lost_of_label(label, aware.labels_) < 0.8 * lost_of_label(label, plain.labels_)
    assert aware.result_.entropy_sum_of_minima_bits > unmixed.result_.entropy_sum_of_minima_bits
    assert (unmixed.result_.objective, plain.result_.label_loss) == (None, 0.0)
    assert unmixed.result_.diagnosis.best_loss == pytest.approx(unmixed.result_.weighed_loss)
    at_rest = scaled_objective(
        loss=unmixed.result_.weighed_loss,
        best_loss=aware.result_.diagnosis.best_loss,
        entropy_bits=unmixed.result_.entropy_sum_of_minima_bits,
        ceiling_bits=unmixed.result_.entropy_ceiling_bits,
        trade_off=trade_off,
    )
    assert aware.result_.objective is not None
    assert aware.result_.objective < at_rest
