"""MO-OBAM under a whole policy, and for a label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aegis.arrays import Ints
from aegis.candidates.clusters.budget import Budget
from aegis.candidates.clusters.class_limits import ClassLimits, PolicyClasses, limits_of, within
from aegis.candidates.clusters.entropy_stage import Admit, anneal
from aegis.candidates.clusters.information_loss import Scale, centers_of, information_loss
from aegis.candidates.clusters.mixing import Goal, loss_and_entropy, objective_value
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.outcome import entropy_ceiling_bits, scaled_objective
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.units import place, total_loss, units_of
from aegis.errors import AnonymizerError, LabelError, OptionError, PolicyNotSatisfiedError
from aegis.library.anonymize import anonymize
from aegis.library.check import check
from aegis.privacy.policy import Policy


def people(rows: int = 90, seed: int = 0) -> Records:
    """Ages, towns, and an illness that depends on the age, so that near records share it."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, rows).astype(float)
    ill = np.where(age + rng.normal(0, 8, rows) > 50, "heart", np.where(rng.random(rows) < 0.5, "flu", "none"))
    return Records.from_columns(
        {"age": age, "town": rng.choice(["a", "b", "c"], rows), "ill": ill, "pay": age * 2 + rng.integers(0, 9, rows)},
        quasi_identifiers=["age", "town"],
        sensitive=["ill", "pay"],
    )


POLICIES = {
    "t": {"k": 4, "t": {"ill": 0.3}},
    "t of numbers": {"k": 4, "t": {"pay": 0.2}},
    "entropy": {"k": 4, "l": {"ill": {"kind": "entropy", "l": 2}}},
    "marketer": {"k": 3, "risk": {"marketer": 0.1}},
}


@pytest.mark.parametrize("asked", POLICIES.values(), ids=POLICIES)
def test_every_model_of_a_policy_holds_on_what_is_seen(asked: dict[str, object]) -> None:
    records, policy = people(), Policy.from_mapping(asked)
    fitted = MOOBAM(policy=policy, rounds=100).fit(records)
    judge = PolicyClasses(records, policy, scale="raw")
    assert judge.judged(fitted.labels_).satisfied
    assert fitted.result_.k == asked["k"]
    assert fitted.result_.smallest_class >= fitted.result_.k
    alone = MOOBAM(k=fitted.result_.k, rounds=100).fit(records)
    assert not judge.judged(alone.labels_).satisfied, "k alone does not do it on this table"


@pytest.mark.parametrize("trade_off", [0.02, 0.3])
@pytest.mark.parametrize("asked", POLICIES.values(), ids=POLICIES)
def test_mixing_secrets_under_a_policy_is_no_worse_than_not_to_mix_them(
    asked: dict[str, object], trade_off: float
) -> None:
    """Mixed classes that fail the policy are joined, which may cost more than mixing them has won."""
    records, policy = people(), Policy.from_mapping(asked)
    fitted = MOOBAM(policy=policy, trade_off=trade_off, rounds=200).fit(records)
    assert PolicyClasses(records, policy, scale="raw").judged(fitted.labels_).satisfied
    mixed = fitted.result_
    plain = MOOBAM(policy=policy, rounds=100).fit(records).result_
    assert mixed.objective is not None
    unmixed = scaled_objective(
        loss=plain.information_loss,
        best_loss=mixed.diagnosis.best_loss,
        entropy_bits=plain.entropy_sum_of_minima_bits,
        ceiling_bits=plain.entropy_ceiling_bits,
        trade_off=trade_off,
    )
    assert mixed.objective <= unmixed + 1e-9


def borrowers() -> Records:
    """An age, a trade, and a balance that the age tells something about."""
    rng = np.random.default_rng(4)
    age = rng.integers(19, 76, 240)
    return Records.from_columns(
        {"age": age, "trade": rng.choice(["a", "b", "c"], 240), "balance": (age // 20 + rng.integers(0, 3, 240)) % 4},
        quasi_identifiers=["age", "trade"],
        sensitive=["balance"],
        categorical=["trade"],
    )


STAGED = {
    "t": {"k": 4, "l": {"balance": 2}, "t": {"balance": 0.3}},
    "ordered t": {"k": 4, "t": {"balance": {"t": 0.2, "distance": "ordered"}}},
    "entropy": {"k": 4, "l": {"balance": {"kind": "entropy", "l": 2}}},
    "recursive": {"k": 4, "l": {"balance": {"kind": "recursive", "l": 2, "c": 2}}},
    "beta": {"k": 4, "beta": {"balance": 1.5}},
    "delta": {"k": 4, "delta": {"balance": 2}},
    "alpha": {"k": 4, "alpha": {"balance": 0.6}},
}


@pytest.mark.parametrize("trade_off", [0.1, 1.0])
@pytest.mark.parametrize("asked", STAGED.values(), ids=STAGED)
def test_a_policy_inside_the_entropy_stage_beats_joining_after_it(asked: dict[str, object], trade_off: float) -> None:
    records, policy = borrowers(), Policy.from_mapping(asked)
    judge = PolicyClasses(records, policy, scale="raw")
    limits = limits_of(records, policy)
    start = judge.joined(MOOBAM(k=limits.records, rounds=400).fit(records).labels_)
    units = units_of(records, collapse(records), scale="raw", whole_tuples=False)
    goal = Goal(
        best=float(total_loss(place(units, start, capacity=int(start.max()) + 1))),
        ceiling=entropy_ceiling_bits(records.sensitive),
        trade_off=trade_off,
        minimum_of_sums=False,
        free=True,
    )

    least_records = limits.records

    def mixed(limits: ClassLimits, admit: Admit | None) -> tuple[Ints, float]:
        """The classes after the stage, and the least loss."""
        best = start

        def report(labels: Ints, deviation: float, rounds: int) -> None:
            nonlocal best
            best = labels
            assert admit is None or judge.judged(labels).satisfied

        budget = Budget(seconds=0.0, rounds=40_000, most_at_once=2500)
        rng = np.random.default_rng(0)
        least = anneal(units, start, rng, budget, goal, k=least_records, l=1, limits=limits, report=report, admit=admit)
        return best, least

    inside, least = mixed(limits, judge.joined)
    after = judge.joined(mixed(limits_of(records, None), None)[0])
    goal = goal._replace(best=least)
    of_start, of_inside, of_after = (
        float(objective_value(goal, *loss_and_entropy(units, labels, goal))) for labels in (start, inside, after)
    )
    assert of_inside < min(of_start, of_after) - 0.01


LIMITED = {
    "distinct": {"l": {"ill": 3}},
    "entropy": {"l": {"ill": {"kind": "entropy", "l": 1.8}}},
    "equal": {"t": {"ill": 0.35}},
    "ordered": {"t": {"pay": {"t": 0.15, "distance": "ordered"}}},
    "recursive": {"l": {"ill": {"kind": "recursive", "l": 2, "c": 2}}},
    "beta": {"beta": {"ill": 0.6}},
    "enhanced beta": {"beta": {"ill": {"kind": "enhanced", "beta": 0.8}}},
    "delta": {"delta": {"ill": 0.9}},
    "delta of what is there": {"delta": {"ill": {"delta": 0.9, "absent": "ignored"}}},
    "alpha": {"k": 11, "alpha": {"ill": 0.6}},
    "homogeneity": {"risk": {"homogeneity": {"attributes": ["ill", "pay"], "share": 0.0}}},
    "prosecutor": {"risk": {"prosecutor": 0.09}},
    "all": {"l": {"ill": 2}, "t": {"ill": 0.4, "pay": {"t": 0.2, "distance": "ordered"}}},
}


@pytest.mark.parametrize("asked", LIMITED.values(), ids=LIMITED)
def test_the_limits_of_a_class_are_those_of_the_models(asked: dict[str, object]) -> None:
    records, policy = people(300), Policy.from_mapping(asked)
    units = units_of(records, collapse(records), scale="raw", whole_tuples=False)
    limits = limits_of(records, policy)
    outcomes = set()
    for seed in range(5):
        labels = np.random.default_rng(seed).permutation(np.arange(300) % 25)
        labels = np.where(records.numeric[:, 0] > 75, 25, labels)  # one class that is unlike the others
        state = place(units, labels, capacity=int(labels.max()) + 1)
        verdicts = PolicyClasses(records, policy, scale="raw").judged(labels).came_verdicts
        failing = np.logical_or.reduce([verdict.failing[: len(state.size)] for verdict in verdicts])
        assert [not within(units, state, c, limits) for c in range(len(state.size))] == failing.tolist()
        outcomes |= set(failing.tolist())
    assert outcomes == {True, False}


def test_what_counts_of_a_class_do_not_answer_is_left_to_the_judge() -> None:
    for asked in ({"risk": {"marketer": 0.1}}, {"risk": {"linkage": {"tau": 0.2, "share": 0.1}}}):
        limits = limits_of(people(), Policy.from_mapping({**asked, "k": 5}))
        assert (limits.records, limits.asked, limits.whole) == (5, False, False)
    limits = limits_of(people(), Policy.from_mapping({"k": 5, "risk": {"prosecutor": 0.1}}))
    assert (limits.records, limits.asked, limits.whole) == (10, False, True)
    gaps = Records.from_columns(
        {"age": [1.0, 2.0, 3.0], "pay": np.array([1.0, None, 2.0], dtype=object)},
        quasi_identifiers=["age"],
        sensitive=["pay"],
        missing="category",
    )
    ordered = Policy.from_mapping({"t": {"pay": {"t": 0.2, "distance": "ordered"}}})
    assert not limits_of(gaps, ordered).whole, "a missing value has no place in the order"


def test_judging_inside_the_search_loses_less_than_joining_afterwards() -> None:
    records, policy = people(), Policy.from_mapping(POLICIES["t"])
    inside = MOOBAM(policy=policy, rounds=200).fit(records).result_.information_loss
    after = PolicyClasses(records, policy, scale="raw").joined(MOOBAM(k=4, rounds=200).fit(records).labels_)
    assert inside <= information_loss(records, centers_of(records, after).rows(after)) + 1e-12


def test_a_policy_that_one_class_cannot_satisfy_is_refused() -> None:
    with pytest.raises(PolicyNotSatisfiedError, match="not even all records in one class"):
        MOOBAM(policy=Policy.from_mapping({"k": 2, "l": {"ill": 9}}), rounds=10).fit(people())


def test_what_cannot_be_judged_or_combined_is_refused() -> None:
    policy = Policy.from_mapping({"k": 2, "t": {"other": 0.2}})
    with pytest.raises(AnonymizerError, match="not among the sensitive"):
        MOOBAM(policy=policy, rounds=1).fit(people())
    with pytest.raises(AnonymizerError, match="counts people"):
        MOOBAM(policy=Policy.from_mapping({"k": 2, "unit": "who"}), rounds=1).fit(people())
    with pytest.raises(AnonymizerError, match="give k, or a policy"):
        MOOBAM()
    with pytest.raises(AnonymizerError, match="leave l and classes out"):
        MOOBAM(policy=policy, l=2)
    with pytest.raises(AnonymizerError, match="needs the label"):
        MOOBAM(k=2, label_weight=1.0, rounds=1).fit(people())
    with pytest.raises(AnonymizerError, match="another number of rows"):
        MOOBAM(k=2, label_weight=1.0, rounds=1).fit(people(), [0, 1])
    with pytest.raises(AnonymizerError, match="one value only"):
        MOOBAM(k=2, label_weight=1.0, rounds=1).fit(people(), np.zeros(90))


@pytest.mark.parametrize("scale", ["raw", "standardised"])
@pytest.mark.parametrize("numbers", [False, True])
def test_a_label_is_kept_together_and_the_loss_stays_that_of_the_quasi_identifiers(scale: Scale, numbers: bool) -> None:
    records = people()
    rng = np.random.default_rng(5)
    label = rng.normal(size=90) if numbers else rng.integers(0, 2, 90)

    def within(labels: np.ndarray) -> float:
        """What classes leave of the label's deviation."""
        means = np.bincount(labels, weights=label) / np.bincount(labels)
        return float(((label - means[labels]) ** 2).sum())

    plain = MOOBAM(k=5, rounds=100, scale=scale).fit(records, label)
    aware = MOOBAM(k=5, rounds=100, scale=scale, label_weight=2.0).fit(records, label)
    assert within(aware.labels_) < 0.7 * within(plain.labels_)
    rows = centers_of(records, aware.labels_).rows(aware.labels_)
    assert aware.result_.information_loss == pytest.approx(information_loss(records, rows, scale=scale))
    assert aware.result_.smallest_class >= 5
    assert set(aware.transform()) == {"age", "town"}


def table(path: Path) -> Path:
    rng = np.random.default_rng(2)
    lines = []
    for at in range(120):
        age = int(rng.integers(20, 80))
        ill = "heart" if age > 50 else "flu" if at % 2 else "none"
        lines.append(f"{age},{'ab'[at % 2]},{ill},{int(rng.random() < 0.5)}")
    path.write_text("\n".join(["age,town,ill,label", *lines]) + "\n")
    return path


def test_the_command_takes_a_policy_and_a_label(tmp_path: Path) -> None:
    data, out = table(tmp_path / "people.csv"), tmp_path / "out.csv"
    policy = {"quasi_identifying": ["age", "town"], "k": 4, "t": {"ill": 0.35}}
    done = anonymize(data, policy=policy, label=["label"], out=out, seconds=0.3)
    assert done.result.k == 4
    assert check(out, policy=policy).satisfied
    with pytest.raises(LabelError, match="averaged itself"):
        anonymize(data, policy=policy, label=["town"], seconds=0.1)
    with pytest.raises(OptionError, match="one label"):
        anonymize(data, k=3, quasi=["age"], label=["label", "ill"])
    with pytest.raises(OptionError, match="no label to weigh"):
        anonymize(data, k=3, quasi=["age"], label_weight=0.5)
    with pytest.raises(OptionError, match="keeps no recoding"):
        anonymize(data, k=3, quasi=["age"], model=tmp_path / "m.json")


def test_the_command_takes_a_label_and_a_trade_off(tmp_path: Path) -> None:
    data = table(tmp_path / "people.csv")
    mixed = anonymize(
        data, k=4, quasi=["age", "town"], sensitive=["ill"], label=["label"], trade_off=0.5, seconds=0.3
    ).result
    assert mixed.objective is not None
    assert mixed.label_loss < 0.1  # of 1: classes keep it predictable
    assert mixed.gap.startswith(f"objective {mixed.objective:.4f}")
