"""Algorithm 1 on rows: it learns which values share a symbol, stops and goes on, and ends under the caps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aegis.candidates.sanitizers.capped_problem import CappedProblem, LogCost, zero_one
from aegis.candidates.sanitizers.capped_program import solve
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.encoding import BETWEEN, Ranges, joined, joint_cost, ranges_of, split_tuples
from aegis.candidates.sanitizers.law import Cone, cone_of, estimated_law
from aegis.candidates.sanitizers.symbol_tuning import best_trained, spent, under_caps
from aegis.errors import SanitizerError

pytest.importorskip("jax")

from aegis.candidates.sanitizers.row_training import Part, Rows, RowSettings, train_rows

SETTINGS = RowSettings(symbols=4, trials=2, steps=120, epochs=3, inner_steps=1, batch_rows=128, hidden=8)


@pytest.fixture(scope="module")
def rows() -> Rows:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, 1500)
    known = (np.where(rng.random(1500) < 0.7, x, rng.integers(0, 3, 1500)))[:, None] == np.arange(3)
    other = (np.where(rng.random(1500) < 0.2, x, rng.integers(0, 3, 1500)))[:, None] == np.arange(3)
    return Rows(
        codes=x,
        groups=(known.astype(float),),
        adversaries=(other.astype(float),),
        parts=(Part(codes=np.arange(3), cost=1.0 - np.eye(3)),),
    )


@pytest.fixture(scope="module")
def problem(rows: Rows) -> CappedProblem:
    cells = [side.argmax(axis=1) for side in (*rows.groups, *rows.adversaries)]
    law = estimated_law(rows.codes, cells[:1], cells[1:], size=3, confidence=0.95).estimate
    return CappedProblem(
        law=law,
        cost=zero_one(3),
        distortions=(0.14,),
        caps=Caps(local_dp=3.5),
    )


def test_what_networks_find_ends_near_the_program_and_a_stopped_run_goes_on(
    rows: Rows, problem: CappedProblem, tmp_path: Path
) -> None:
    cone = cone_of(problem.law, problem.caps)
    calls: list[int] = []

    def stop(done: int, total: int | None, what: str, /) -> None:
        calls.append(done)
        if len(calls) == 2:
            raise KeyboardInterrupt

    kept = tmp_path / "run.npz"
    with pytest.raises(KeyboardInterrupt):
        train_rows(rows, distortions=[0.14], cone=cone, settings=SETTINGS, checkpoint=kept, progress=stop)
    trained = train_rows(rows, distortions=[0.14], cone=cone, settings=SETTINGS, checkpoint=kept, progress=stop)
    assert calls == [1, 2, 3], "the third epoch alone was left"
    assert np.allclose(trained.releases.sum(axis=2), 1.0)
    found = best_trained(trained.releases, problem, cone)
    assert found is not None
    release, worst = found
    assert problem.distortions_of(release)[0] <= 0.14 + 1e-6
    assert bool(cone.inside(release.T).all())
    assert 0.9 * solve(problem).worst <= worst <= 1.002 * solve(problem).worst
    with pytest.raises(SanitizerError, match="other settings"):
        train_rows(rows, distortions=[0.15], cone=cone, settings=SETTINGS, checkpoint=kept)


def test_networks_that_state_chances_end_near_the_program_in_bits(rows: Rows, problem: CappedProblem) -> None:
    cost = LogCost(3)
    silent = replace(problem, cost=cost)
    in_bits = replace(silent, distortions=(0.6 * silent.silent_distortions[0],))
    cone = cone_of(in_bits.law, in_bits.caps)
    part = Part(codes=np.arange(3), cost=np.zeros((3, 1)), loss="log")
    trained = train_rows(
        Rows(codes=rows.codes, groups=rows.groups, adversaries=rows.adversaries, parts=(part,)),
        distortions=in_bits.distortions,
        cone=cone,
        settings=SETTINGS,
    )
    # what was trained less tells too little, and no mixture of its symbols tells more
    quieter = 0.8 * trained.releases + 0.2 * trained.releases.mean(axis=1, keepdims=True)
    assert min(in_bits.distortions_of(release)[0] for release in quieter) > in_bits.distortions[0]
    found = best_trained(quieter, in_bits, cone)
    assert found is not None
    release, worst = found
    assert in_bits.distortions_of(release)[0] <= in_bits.distortions[0] * (1 + 1e-6)
    assert bool(cone.inside(release.T).all())
    assert 0.98 * solve(in_bits).worst <= worst <= 1.002 * solve(in_bits).worst


def test_a_table_is_drawn_under_the_caps_and_spends_its_distortion(problem: CappedProblem) -> None:
    cone = cone_of(problem.law, problem.caps)
    held = under_caps(np.eye(3), cone, problem.law.prior)
    assert bool(cone.inside(held.T).all())
    assert not bool(cone.inside(np.eye(3).T).all())
    whole = spent(held, problem)
    assert whole is not None
    assert problem.distortions_of(whole)[0] == pytest.approx(0.14, rel=1e-3)
    assert min(problem.losses_of(whole)) >= min(problem.losses_of(held))
    assert spent(np.ones((3, 1)), problem) is None, "silence errs by more"


def test_columns_become_tuples_and_back() -> None:
    columns = {"a": np.array(["x", "y"], dtype=object), "b": np.array([1.0, 2.0])}
    text = joined(columns, ["a", "b"])
    assert text.tolist() == [f"x{BETWEEN}1.0", f"y{BETWEEN}2.0"]
    assert [part.tolist() for part in split_tuples(text, (None, None))] == [["x", "y"], ["1.0", "2.0"]]
    assert joint_cost(text).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_a_number_of_many_values_enters_a_tuple_by_its_range() -> None:
    columns = {"a": np.tile(["x", "y"], 60).astype(object), "b": np.arange(120.0), "c": np.tile([7, 8], 60)}
    ranges = ranges_of(columns, ["a", "b", "c"])
    held = ranges[1]
    assert held is not None
    assert ranges[0] is ranges[2] is None, "few values enter as they are"
    assert len(held.means) == 6
    text = joined(columns, ["a", "b", "c"], ranges)
    assert np.unique(text).size == 12, "x goes with 7, y with 8"
    back = split_tuples(text, ranges)
    np.testing.assert_allclose(back[1], np.repeat(held.means, 20))
    assert held.means[0] == pytest.approx(columns["b"][:20].mean())
    cost = joint_cost(text, ranges)
    values = np.unique(text).tolist()
    near, far = (f"x{BETWEEN}{held.means[place]!r}{BETWEEN}7" for place in (1, 5))
    first = f"x{BETWEEN}{held.means[0]!r}{BETWEEN}7"
    assert cost[values.index(first), values.index(far)] == pytest.approx(1 / 3), "one of three columns, all the way off"
    assert cost[values.index(first), values.index(near)] == pytest.approx(1 / 75)
    beyond = joined({name: column[:1] for name, column in columns.items()} | {"b": np.array([-5.0])}, ["b"], (held,))
    assert beyond.tolist() == [repr(held.means[0])], "new rows fall into the first or the last range"
    with pytest.raises(SanitizerError, match="expects numbers"):
        joined(columns, ["a"], (held,))


def test_ranges_are_fewer_where_there_are_many_tuples_or_one_common_value() -> None:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {name: rng.normal(size=400) for name in "abc"}
    columns["d"] = np.where(np.arange(400) < 300, 0.0, np.arange(400))
    assert [len(held.means) for held in ranges_of(columns, ["a", "b", "c"]) if held is not None] == [3, 3, 3]
    (mostly,) = ranges_of(columns, ["d"])
    assert mostly is not None
    assert 2 <= len(mostly.means) < 6


@pytest.mark.parametrize("means", [(1.0,), (2.0, 1.0), (1.0, 2.0, 3.0)])
def test_ranges_that_are_none_are_refused(means: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="cut between"):
        Ranges(edges=(1.5,), means=means)


def test_bad_settings_are_refused(rows: Rows) -> None:
    with pytest.raises(SanitizerError, match="multiple of its epochs"):
        RowSettings(steps=10, epochs=3)
    with pytest.raises(SanitizerError, match="positive distortion"):
        train_rows(rows, distortions=[0.0], cone=Cone(np.zeros((0, 3)), np.zeros(0)), settings=SETTINGS)
    with pytest.raises(SanitizerError, match="at least 50 rows"):
        Rows(codes=rows.codes[:9], groups=(), adversaries=(), parts=rows.parts)
