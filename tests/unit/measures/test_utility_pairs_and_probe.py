from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from aegis.counts.pair_counts import PairCounts
from aegis.errors import MeasureError, SummaryError
from aegis.measures.leave_one_out import leave_one_out_information
from aegis.measures.pairs import mean_pair_information, pair_information
from aegis.measures.probe import Probe, cross_moments, encode, linear_probe, pair_table, probe_tables

Ints = NDArray[np.int64]


def joint(a: Ints, y: Ints, labels: int) -> Ints:
    counts = np.zeros((a.max() + 1, labels), dtype=np.int64)
    np.add.at(counts, (a, y), 1)
    return counts


def pair(a: Ints, b: Ints, y: Ints, labels: int) -> PairCounts:
    keys, groups = np.unique(np.stack([a, b], axis=1), axis=0, return_inverse=True)
    return PairCounts(first=keys[:, 0], second=keys[:, 1], counts=joint(groups.reshape(-1), y, labels))


def data(seed: int, n: int = 120, m: int = 4, labels: int = 3) -> tuple[list[Ints], Ints]:
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 4, size=n)
    y = np.where(rng.random(n) < 0.8, hidden % labels, rng.integers(0, labels, size=n))
    columns = [np.where(rng.random(n) < 0.6, hidden, rng.integers(0, 4 + i, size=n)) for i in range(m)]
    return columns, y


def tables(columns: list[Ints], y: Ints) -> tuple[dict[str, Ints], dict[tuple[str, str], PairCounts]]:
    labels = int(y.max()) + 1
    names = [f"c{i}" for i in range(len(columns))]
    joints = {name: joint(column, y, labels) for name, column in zip(names, columns, strict=True)}
    pairs = {
        (names[i], names[j]): pair(columns[i], columns[j], y, labels) for i, j in combinations(range(len(names)), 2)
    }
    return joints, pairs


def probe_of_rows(columns: list[Ints], y: Ints, *, prior: float, ridge: float) -> float:
    """The same quantity record by record: encode, standardise, solve, score each record without itself."""
    n, labels = len(y), int(y.max()) + 1
    one_hot = np.eye(labels)[y]
    p = one_hot.mean(axis=0)
    inside, outside = [], []
    for a in columns:
        if float(leave_one_out_information(joint(a, y, labels))) <= 0:
            continue
        same = a[:, None] == a[None, :]
        raw = (same @ one_hot + prior * p) / (same.sum(axis=1, keepdims=True) + prior) - p
        np.fill_diagonal(same, False)
        without = (same @ one_hot + prior * p) / (same.sum(axis=1, keepdims=True) + prior) - p
        mean, spread = raw.mean(axis=0), raw.std(axis=0)
        inside.append((raw - mean) / spread)
        outside.append((without - mean) / spread)
    Z, Z_out, target = np.hstack(inside), np.hstack(outside), one_hot - p
    S = Z.T @ Z / n
    W = np.linalg.solve(S + ridge * np.eye(len(S)), Z.T @ target / n)
    score = 2 * np.trace((Z_out.T @ target / n).T @ W) - np.trace(W.T @ S @ W)
    return max(score / (1 - (p**2).sum()), 0.0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("prior", "ridge"), [(2.0, 0.05), (10.0, 0.01)])
def test_the_probe_from_tables_equals_the_probe_from_rows(seed: int, prior: float, ridge: float) -> None:
    columns, y = data(seed)
    columns.append(np.arange(len(y)))  # an identifier, which must be left out
    result = probe_tables(*tables(columns, y), prior_records=prior, ridge=ridge)
    assert "c4" in result.left_out
    assert result.r_squared == pytest.approx(probe_of_rows(columns, y, prior=prior, ridge=ridge), abs=1e-9)
    assert result.r_squared < result.r_squared_as_counted < 1


def test_saying_the_same_thing_twice_adds_little() -> None:
    columns, y = data(3, n=400, m=2)
    alone = probe_tables(*tables(columns[:1], y))
    twice = probe_tables(*tables([columns[0], columns[0].copy()], y))
    other = probe_tables(*tables(columns, y))
    assert twice.r_squared == pytest.approx(alone.r_squared, abs=0.03)
    assert other.r_squared > twice.r_squared


def test_masked_pairs_and_encodings_on_the_raw_pairs_agree() -> None:
    columns, y = data(5, m=2)
    masks = [np.array([0, 0, 1, 2]), np.array([1, 0, 0, 1, 1])]
    masked = [mask[column] for mask, column in zip(masks, columns, strict=True)]
    raw_pair = pair(columns[0], columns[1], y, 3)
    merged = raw_pair.merged(masks[0], masks[1])
    straight = pair(masked[0], masked[1], y, 3)
    assert merged.first.tolist() == straight.first.tolist()
    assert merged.second.tolist() == straight.second.tolist()
    assert merged.counts.tolist() == straight.counts.tolist()
    first, second = encode(joint(masked[0], y, 3)), encode(joint(masked[1], y, 3))
    raw = pair_table(raw_pair, first_values=len(masks[0]), second_values=len(masks[1]))
    small = pair_table(merged, first_values=len(first.values), second_values=len(second.values))
    np.testing.assert_allclose(
        cross_moments(raw, first.on(masks[0]), second.on(masks[1])),
        cross_moments(small, first.values, second.values),
        atol=1e-12,
    )


def test_the_order_of_a_pair_does_not_matter() -> None:
    columns, y = data(7)
    joints, pairs = tables(columns, y)
    turned = {(b, a): PairCounts(first=p.second, second=p.first, counts=p.counts) for (a, b), p in pairs.items()}
    assert probe_tables(joints, turned).r_squared == pytest.approx(probe_tables(joints, pairs).r_squared)


def test_what_the_probe_needs_is_asked_for_by_name() -> None:
    columns, y = data(1)
    joints, pairs = tables(columns, y)
    del pairs["c0", "c2"]
    with pytest.raises(MeasureError, match="pair counts of c0 and c2"):
        probe_tables(joints, pairs)
    with pytest.raises(MeasureError, match="at least one attribute"):
        probe_tables({}, {})
    with pytest.raises(MeasureError, match="ridge"):
        probe_tables(joints, {}, ridge=0)
    with pytest.raises(MeasureError, match="prior"):
        encode(joints["c0"], prior_records=0)


def test_nothing_to_say_scores_nothing() -> None:
    result = linear_probe({"id": encode(np.eye(10))}, {}, label=np.ones(10))
    assert isinstance(result, Probe)
    assert (result.r_squared, result.attributes, result.left_out) == (0.0, (), ("id",))
    constant = linear_probe({"x": encode(np.array([[3], [4]]))}, {}, label=np.array([7]))
    assert constant.r_squared == 0.0


def test_a_pair_sees_what_its_members_do_not() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    both = pair(a, b, a ^ b, 2)
    assert pair_information(both) > 0.9
    assert float(leave_one_out_information(joint(a, a ^ b, 2))) < 0.05
    assert mean_pair_information([both, both]) == pytest.approx(pair_information(both))
    assert mean_pair_information([]) == 0.0


def test_malformed_pairs_are_refused() -> None:
    one = np.array([0])
    with pytest.raises(SummaryError, match="one row of label counts"):
        PairCounts(first=one, second=np.array([0, 1]), counts=np.array([[1, 2]]))
    with pytest.raises(SummaryError, match="negative"):
        PairCounts(first=-one - 1, second=one, counts=np.array([[1, 2]]))
    with pytest.raises(SummaryError, match="masks do not know"):
        PairCounts(first=one + 5, second=one, counts=np.array([[1, 2]])).merged(np.array([0]), np.array([0]))
