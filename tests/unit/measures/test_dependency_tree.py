"""Trees grown from pairs: exact where the world is a tree, blind to what says nothing new."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from aegis.counts.joint import Histogram, Joint
from aegis.counts.pair_counts import PairCounts, PairTables, ValueGroups
from aegis.counts.summary import masked_counts
from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.masking.configuration import Configuration
from aegis.measures.dependency_tree import LARGEST, tree_accuracies
from aegis.measures.leave_one_out import leave_one_out_accuracy, leave_one_out_information
from aegis.measures.pair_ground import PairGround

Floats = NDArray[np.float64]


def expected_counts(chances: Floats, records: int) -> Floats:
    """Whole numbers of records near ``chances``: label first, then one axis per attribute."""
    return np.round(chances * records)


def grown(counts: Floats, *, specs: list[dict[str, Any]] | None = None, kind: Kind = Kind.INTEGER) -> Floats:
    """The tree accuracies of a full table: labels × attribute × attribute × …."""
    labels, sizes = counts.shape[0], counts.shape[1:]
    names = [f"a{i}" for i in range(len(sizes))]
    values = [range(size) if kind is Kind.INTEGER else [f"v{v:02d}" for v in range(size)] for size in sizes]
    domains = [Domain.of(kind, value) for value in values]
    label = Domain.of(Kind.TEXT, [f"y{i}" for i in range(labels)])
    axes = range(1, counts.ndim)

    def over(*kept: int) -> Floats:
        return counts.sum(axis=tuple(axis for axis in axes if axis not in kept))

    joints = {
        name: Joint(attribute=domains[i], label=label, counts=over(i + 1).T.astype(np.int64))
        for i, name in enumerate(names)
    }
    summary = masked_counts(
        name="t",
        label="y",
        label_histogram=Histogram(domain=label, counts=over().astype(np.int64)),
        joints=joints,
        configurations=[Configuration.of(f"k{i}", spec) for i, spec in enumerate(specs or [{}])],
    )
    groups = {name: ValueGroups(codes=np.arange(size), size=size) for name, size in zip(names, sizes, strict=True)}
    tables = {}
    for a, b in combinations(range(len(names)), 2):
        dense = np.moveaxis(over(a + 1, b + 1), 0, 2)
        there = np.argwhere(dense.any(axis=2))
        tables[names[a], names[b]] = PairCounts(
            first=there[:, 0], second=there[:, 1], counts=dense[there[:, 0], there[:, 1]].astype(np.int64)
        )
    records = int(counts.sum())
    parts = {name: np.stack([joints[name].counts, np.zeros_like(joints[name].counts)]) for name in names}
    pairs = PairTables(rows=records, sample_rows=records, labels=labels, groups=groups, tables=tables, parts=parts)
    ground = PairGround(summary=summary, pairs=pairs)
    flat = [
        [ground_table(ground, i, a, b) for a, b in combinations(names, 2)] for i in range(len(summary.configurations))
    ]
    bits = np.array([[float(leave_one_out_information(table)) for table in row] for row in flat])
    accuracies = np.array([[float(leave_one_out_accuracy(table)) for table in row] for row in flat])
    return tree_accuracies(ground, bits, accuracies)


def ground_table(ground: PairGround, i: int, a: str, b: str) -> Floats:
    configuration = ground.summary.configurations[i]
    counts = np.moveaxis(ground.table(a, b), 2, 0)
    for name, axis in ((a, 1), (b, 2)):
        onto = ground.onto(name, (configuration.masks[name], None))
        counts = counts if onto is None else np.moveaxis(np.moveaxis(counts, axis, 2) @ onto, 2, axis)
    return counts.reshape(len(counts), -1).T


def a_chain(rng: np.random.Generator, *, attributes: int, levels: int = 3, labels: int = 2) -> Floats:
    """A world in which every attribute depends on the label and the one before it."""
    chances = rng.dirichlet(np.full(labels, 3.0))
    joint = chances[:, None] * rng.dirichlet(np.ones(levels), size=labels)
    for _ in range(attributes - 1):
        given_both = rng.dirichlet(np.ones(levels), size=(labels, levels))
        axes = (labels, *(1,) * (joint.ndim - 2), levels, levels)
        joint = joint[..., None] * given_both.reshape(axes)
    return joint


@given(seed=st.integers(0, 2**20), labels=st.integers(2, 3))
@settings(max_examples=20, deadline=None)
def test_where_the_world_is_a_pair_and_a_child_the_tree_is_exact_or_stops(seed: int, labels: int) -> None:
    joint = a_chain(np.random.default_rng(seed), attributes=3, labels=labels)
    counts = expected_counts(joint, 2_000_000)
    truth = counts.max(axis=0).sum() / counts.sum()
    best_pair = max(counts.sum(axis=axis).max(axis=0).sum() / counts.sum() for axis in (1, 2, 3))
    found = float(grown(counts)[0, 0])
    # Which two are the pair and which is the child is for the tree to choose: it may choose a tree that is not the
    # world's. It never claims less than the pair, and where the chain's own tree was chosen it is exact.
    assert found >= best_pair - 1e-3
    own = [
        _tree(counts, order)
        for order in ((1, 2, 3, 1), (1, 2, 3, 2), (1, 3, 2, 1), (1, 3, 2, 3), (2, 3, 1, 2), (2, 3, 1, 3))
    ]
    assert min(abs(found - value) for value in [*own, best_pair]) < 1e-3
    assert min(abs(truth - value) for value in own) < 1e-3


def _tree(counts: Floats, order: tuple[int, int, int, int]) -> float:
    """Accuracy of the tree with the pair (first, second) and the child third of ``parent``, in plain sums."""
    first, second, third, parent = order
    chances = counts / counts.sum()
    pair = chances.sum(axis=third, keepdims=True)
    rest = ({1, 2, 3} - {third, parent}).pop()
    edge = chances.sum(axis=rest, keepdims=True)
    given_parent = edge / np.maximum(edge.sum(axis=third, keepdims=True), 1e-300)
    assert {first, second} == {1, 2, 3} - {third}
    return float((pair * given_parent).max(axis=0).sum())


def test_a_copy_adds_nothing_and_noise_adds_nothing() -> None:
    joint = np.zeros((2, 2, 2, 2, 2))
    for y, a, noise, other in product(range(2), repeat=4):
        joint[y, a, a, noise, other] = (0.4 if y == a else 0.1) * 0.25
    found = grown(expected_counts(joint, 40_000))[0]
    assert found == pytest.approx(np.full(LARGEST - 2, 0.8), abs=2e-3)


def test_a_third_voice_is_heard() -> None:
    votes = np.array([[0.8, 0.2], [0.2, 0.8]])
    joint = np.einsum("y,ya,yb,yc->yabc", np.full(2, 0.5), votes, votes, votes)
    found = grown(expected_counts(joint, 1_000_000))[0]
    assert found[0] == pytest.approx(0.8**3 + 3 * 0.8**2 * 0.2, abs=1e-3)
    assert found[-1] == found[0], "there is no fourth"


def test_nothing_is_left_of_suppressed_attributes() -> None:
    joint = a_chain(np.random.default_rng(1), attributes=4)
    counts = expected_counts(joint, 100_000)
    specs = [{}, {"a0": "suppress", "a1": "suppress", "a2": "suppress", "a3": "suppress"}]
    whole, gone = grown(counts, specs=specs)
    assert gone == pytest.approx(np.full(LARGEST - 2, counts.sum(axis=(1, 2, 3, 4)).max() / counts.sum()))
    assert whole[-1] > gone[-1]


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.TEXT])
def test_wide_attributes_are_put_together_and_many_cells_represented(kind: Kind) -> None:
    rng = np.random.default_rng(2)
    levels = 20
    given_label = np.sort(rng.dirichlet(np.full(levels, 4.0), size=2), axis=1)
    given_label[1] = given_label[1, ::-1]
    joint = np.einsum("y,ya,yb,yc,yd->yabcd", np.full(2, 0.5), *([given_label] * 4))
    found = grown(expected_counts(joint, 50_000_000), kind=kind)[0]
    truth = joint.max(axis=0).sum()
    assert found[1] == pytest.approx(truth, abs=0.02)
    assert (np.diff(found) > -1e-9).all()
