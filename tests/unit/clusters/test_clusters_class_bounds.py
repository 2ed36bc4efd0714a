"""What a policy asks of every class by itself is kept by each try of the search: exactly, and to its advantage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aegis.arrays import Ints
from aegis.candidates.clusters import mo_obam
from aegis.candidates.clusters.class_limits import ClassLimits, PolicyClasses, limits_of
from aegis.candidates.clusters.information_loss import centers_of, information_loss
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.outcome import (
    class_entropies_bits,
    entropy_ceiling_bits,
    scaled_objective,
    sum_of_minima_bits,
)
from aegis.candidates.clusters.records import Records
from aegis.errors import PolicyNotSatisfiedError
from aegis.privacy.policy import Policy

Values = list[int]
Holds = Callable[[Values, Values], bool]
"""Whether a class with these values, of a table with those, satisfies a model: written from its definition."""


def shares(values: Values, of_table: Values) -> list[tuple[float, float]]:
    """For every value of the table its share of the class, and of the table."""
    here, everywhere = Counter(values), Counter(of_table)
    return [(here[value] / len(values), everywhere[value] / len(of_table)) for value in sorted(everywhere)]


def entropy(values: Values) -> float:
    return -sum(q * log(q) for q, _ in shares(values, values))


def ordered(values: Values, of_table: Values) -> float:
    gaps = np.cumsum([q - p for q, p in shares(values, of_table)])
    return float(np.abs(gaps[:-1]).sum() / (len(gaps) - 1))


def recursive(values: Values, c: float, first: int) -> bool:
    counts = sorted(Counter(values).values(), reverse=True)
    return counts[0] < c * sum(counts[first - 1 :])


MODELS: dict[str, tuple[dict[str, object], Holds]] = {
    "distinct": ({"l": {"ill": 2}}, lambda own, table: len(set(own)) >= 2),
    "entropy": ({"l": {"ill": {"kind": "entropy", "l": 2}}}, lambda own, table: entropy(own) >= log(2) - 1e-8),
    "recursive": (
        {"l": {"ill": {"kind": "recursive", "l": 2, "c": 2}}},
        lambda own, table: recursive(own, 2, 2),
    ),
    "t": (
        {"t": {"ill": 0.3}},
        lambda own, table: sum(max(q - p, 0) for q, p in shares(own, table)) <= 0.3 + 1e-8,
    ),
    "ordered t": (
        {"t": {"ill": {"t": 0.15, "distance": "ordered"}}},
        lambda own, table: ordered(own, table) <= 0.15 + 1e-8,
    ),
    "beta": ({"beta": {"ill": 1}}, lambda own, table: all(q <= 2 * p + 1e-8 for q, p in shares(own, table))),
    "enhanced beta": (
        {"beta": {"ill": {"kind": "enhanced", "beta": 1.2}}},
        lambda own, table: all(q <= p * (1 + min(1.2, -log(p))) + 1e-8 for q, p in shares(own, table)),
    ),
    "delta": (
        {"delta": {"ill": 1.8}},
        lambda own, table: all(p * exp(-1.8) < q < p * exp(1.8) for q, p in shares(own, table)),
    ),
    "delta of what is there": (
        {"delta": {"ill": {"delta": 0.9, "absent": "ignored"}}},
        lambda own, table: all(p * exp(-0.9) < q < p * exp(0.9) for q, p in shares(own, table) if q),
    ),
    "alpha": ({"alpha": {"ill": 0.5}}, lambda own, table: max(q for q, _ in shares(own, table)) <= 0.5 + 1e-8),
    "prosecutor": ({"risk": {"prosecutor": 0.15}}, lambda own, table: len(own) >= 7),
    "linkage": ({"risk": {"linkage": {"tau": 0.15}}}, lambda own, table: len(own) >= 7),
    "homogeneity": (
        {"risk": {"homogeneity": {"attributes": ["ill"], "share": 0.0}}},
        lambda own, table: len(set(own)) > 1,
    ),
}
every_model = pytest.mark.parametrize(("asked", "holds"), MODELS.values(), ids=MODELS)


def patients(seed: int, rows: int) -> Records:
    """An age, a town, and an illness that the age tells something about."""
    rng = np.random.default_rng(seed)
    age = rng.integers(19, 76, rows)
    return Records.from_columns(
        {
            "age": age,
            "town": rng.choice(["a", "b", "c"], rows),
            "ill": (age // 20 + rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])) % 4,
        },
        quasi_identifiers=["age", "town"],
        sensitive=["ill"],
    )


@every_model
def test_limits_are_of_one_type_whatever_is_asked(asked: dict[str, object], holds: Holds) -> None:
    """For another type the whole search is compiled once more, which takes longer than most searches."""
    records = patients(0, 20)
    plain, found = limits_of(records, None), limits_of(records, Policy.from_mapping({"k": 2, **asked}))
    for name, one, other in zip(ClassLimits._fields, plain, found, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype, name


def without_bounds(records: Records, policy: Policy | None) -> ClassLimits:
    """As if counts of values could answer nothing, so that whole partitions are judged and joined."""
    return limits_of(records, policy)._replace(asked=False, whole=policy is None)


@every_model
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.1, 1.0]))
@settings(max_examples=6, deadline=None)
def test_what_is_published_satisfies_the_model(
    asked: dict[str, object], holds: Holds, seed: int, trade_off: float
) -> None:
    records = patients(seed, 60)
    fitted = MOOBAM(policy=Policy.from_mapping({"k": 3, **asked}), trade_off=trade_off, rounds=60).fit(records)
    published: dict[tuple[object, ...], Values] = {}
    columns = [column.tolist() for column in fitted.transform().values()]
    ill = records.sensitive[:, 0].tolist()
    for *seen, secret in zip(*columns, ill, strict=True):
        published.setdefault(tuple(seen), []).append(secret)
    assert min(map(len, published.values())) >= 3
    assert all(holds(own, ill) for own in published.values())


@every_model
def test_bounds_inside_the_search_are_no_worse_than_joining_after_it(
    asked: dict[str, object], holds: Holds, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.from_mapping({"k": 4, **asked})
    tables = [patients(seed, 240) for seed in range(5)]

    def losses() -> list[float]:
        return [MOOBAM(policy=policy, rounds=600).fit(table).result_.information_loss for table in tables]

    inside = losses()
    monkeypatch.setattr(mo_obam, "limits_of", without_bounds)
    after = losses()
    assert np.log(inside).sum() <= np.log(after).sum() + 1e-9, (inside, after)


@every_model
@pytest.mark.parametrize("trade_off", [0.0, 1.0])
def test_nine_records_under_a_model_are_solved_exactly(
    asked: dict[str, object], holds: Holds, trade_off: float
) -> None:
    records = patients(1, 9)
    policy = Policy.from_mapping({"k": 2, **asked})
    judge = PolicyClasses(records, policy, scale="raw")
    if not judge.judged(np.zeros(9, dtype=np.int64)).satisfied:
        with pytest.raises(PolicyNotSatisfiedError, match="not even all records in one class"):
            MOOBAM(policy=policy).fit(records)
        return
    ill = records.sensitive[:, 0].tolist()
    figures = [
        (
            information_loss(records, centers_of(records, labels).rows(labels)),
            sum_of_minima_bits(class_entropies_bits(labels, records.sensitive)),
        )
        for labels in every_partition(9, 2)
        if all(holds([ill[row] for row in np.flatnonzero(labels == c)], ill) for c in range(int(labels.max()) + 1))
    ]
    least = min(loss for loss, _ in figures)
    fitted = MOOBAM(policy=policy, trade_off=trade_off).fit(records).result_
    assert fitted.diagnosis.finished == "done"
    assert fitted.diagnosis.best_loss == pytest.approx(least)
    if not trade_off:
        assert fitted.information_loss == pytest.approx(least)
        return
    possible = min(
        scaled_objective(
            loss=loss,
            best_loss=least,
            entropy_bits=bits,
            ceiling_bits=entropy_ceiling_bits(records.sensitive),
            trade_off=trade_off,
        )
        for loss, bits in figures
    )
    assert fitted.objective == pytest.approx(possible)


def every_partition(rows: int, k: int) -> list[Ints]:
    """Every partition into classes of at least k."""
    found: list[list[int]] = [[0]]
    for _ in range(rows - 1):
        found = [[*labels, c] for labels in found for c in range(max(labels) + 2)]
    return [np.array(labels) for labels in found if min(Counter(labels).values()) >= k]


def test_a_limit_on_all_classes_together_is_searched_from_what_satisfies_it() -> None:
    """A search that strays to what the limit forbids finds nothing more: every joining costs more than it has won."""
    policy = Policy.from_mapping({"k": 3, "risk": {"marketer": 0.1}})
    for seed in range(3):
        records = patients(seed, 240)
        first, later = (
            MOOBAM(policy=policy, rounds=rounds).fit(records).result_.information_loss for rounds in (1, 600)
        )
        assert later < 0.95 * first
