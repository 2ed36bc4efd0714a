"""Algorithm 1 on rows: it learns which values share a symbol, stops and goes on, and ends under the caps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aegis.candidates.sanitizers.capped_problem import CappedProblem
from aegis.candidates.sanitizers.capped_program import solve
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.cones import Cone, cone_of
from aegis.candidates.sanitizers.costs import zero_one
from aegis.candidates.sanitizers.joint import BETWEEN, joined, joint_cost, split_tuples
from aegis.candidates.sanitizers.law import estimated_law
from aegis.candidates.sanitizers.trained_release import best_trained, spent, under_caps
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
        authorized_costs=(zero_one(3),),
        adversary_cost=zero_one(3),
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
    assert [part.tolist() for part in split_tuples(text, 2)] == [["x", "y"], ["1.0", "2.0"]]
    assert joint_cost(text).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    with pytest.raises(SanitizerError, match="put it into ranges"):
        joined({"a": np.arange(40.0), "b": np.arange(40)}, ["a", "b"])


def test_bad_settings_are_refused(rows: Rows) -> None:
    with pytest.raises(SanitizerError, match="multiple of its epochs"):
        RowSettings(steps=10, epochs=3)
    with pytest.raises(SanitizerError, match="positive distortion"):
        train_rows(rows, distortions=[0.0], cone=Cone(np.zeros((0, 3)), np.zeros(0)), settings=SETTINGS)
    with pytest.raises(SanitizerError, match="at least 50 rows"):
        Rows(codes=rows.codes[:9], groups=(), adversaries=(), parts=rows.parts)
