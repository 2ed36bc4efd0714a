"""Mechanisms for columns of tables: they meet the distortion, survive disk, and refuse what they cannot do."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aegis.candidates.sanitizers.attackers import available
from aegis.candidates.sanitizers.audited_column import CERTAIN_CAP, VALUE_CAP, AuditedColumn, Fitted
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.components import Erasure, Learned, Modulo, Noise
from aegis.candidates.sanitizers.fitting import fit
from aegis.candidates.sanitizers.mechanism import (
    BinMechanism,
    CategoryMechanism,
    Model,
    NumberMechanism,
    load_model,
    write_model,
)
from aegis.candidates.sanitizers.mixtures import Mixture
from aegis.candidates.sanitizers.number_column import FLOOR_SHARE
from aegis.candidates.sanitizers.proof import law_free_figures
from aegis.candidates.sanitizers.training_settings import start_weights
from aegis.commands.sanitize import exposed_words
from aegis.errors import SanitizerError

QUICK = tuple(name for name in available() if name != "network")
Table = dict[str, np.ndarray[Any, Any]]


@pytest.fixture(scope="module")
def table() -> Table:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((4000, 3))
    age = 40 + 12 * (0.7 * z[:, 0] + 0.5 * z[:, 1] + 0.5 * z[:, 2])
    return {
        "age": np.round(age),
        "income": np.exp(0.6 * z[:, 0] + 0.6 * z[:, 1]),
        "hours": z[:, 1],
        "zip": np.array(list("abcdefgh"))[np.clip((z[:, 2] * 2 + 4).astype(int), 0, 7)],
        "job": np.array(["x", "y", "z"])[np.clip((z[:, 0] + 1.5).astype(int), 0, 2)],
        "ill": np.where(z[:, 0] + 0.4 * rng.standard_normal(4000) > 0.3, "yes", "no"),
    }


def fitted(table: Table, column: str, distortion: float, **options: Any) -> Fitted:
    return fit(
        table[column],
        column=column,
        authorized={name: table[name] for name in ("income", "hours")},
        adversaries=[{"zip": table["zip"]}, {"job": table["job"]}],
        distortion=distortion,
        names=QUICK,
        rng=np.random.default_rng(1),
        quick=True,
        **options,
    )


def test_a_number_is_released_within_its_distortion(table: Table) -> None:
    result = fitted(table, "age", 22.0)
    assert isinstance(result.mechanism, NumberMechanism)
    assert 0.6 * 22.0 < result.reconstruction.loss <= 22.0
    assert result.audit.worst > result.reconstruction.loss
    parts = result.mechanism.mixture.components
    widths: list[float] = [getattr(part, "std", getattr(part, "blur", np.inf)) for part in parts]
    assert min(widths) >= FLOOR_SHARE * table["age"].std()
    for protection in result.protection:
        assert protection.after.certain <= protection.before.certain + CERTAIN_CAP
        assert protection.noise is not None
        assert all(
            mine <= theirs + 0.02 for mine, theirs in zip(protection.after.pinned, protection.noise.pinned, strict=True)
        )
    again, same = (result.mechanism.apply(table["age"][:50], rng=np.random.default_rng(5)) for _ in range(2))
    assert (again["age_released"] == same["age_released"]).all()
    json.dumps(result.to_json())


def test_a_category_is_released_within_its_distortion(table: Table) -> None:
    result = fitted(table, "ill", 0.2)
    assert result.reconstruction.loss <= 0.2
    assert isinstance(result.mechanism, CategoryMechanism)
    assert all(
        share <= was + VALUE_CAP
        for protection in result.protection
        for was, share in zip(protection.before.by_value, protection.after.by_value, strict=True)
    )
    released = result.mechanism.apply(table["ill"][:20], rng=np.random.default_rng(0))["ill_released"]
    assert set(released) <= {"s0", "s1", "s2", "s3", "s4", "s5", "s6"}
    assert max(result.audit.adversaries[0].loss, 0.2) >= result.audit.distortion.loss


def test_caps_on_a_category_hold_and_what_is_proved_is_said(table: Table) -> None:
    result = fitted(table, "ill", 0.2, caps=Caps(posterior=0.97, local_dp=4.0))
    proof = result.proof
    assert proof is not None
    assert proof.local_dp is not None
    assert proof.local_dp <= 4.0 + 1e-6
    assert proof.gap < 0.05
    for number, (adversary, party) in enumerate(zip(proof.adversaries, result.audit.adversaries, strict=True)):
        assert adversary.exact_cells, "eight zip codes, three jobs"
        assert adversary.proved_loss < adversary.loss
        assert adversary.proved_loss <= party.interval[1]
        assert adversary.proved_loss >= proof.kept_share * 0.8 * result.saturation_losses[number] * 0.5
    assert json.loads(json.dumps(result.to_json()))["proof"]["assumptions"]
    assert AuditedColumn.from_json(json.loads(json.dumps(result.to_json()))).proof == proof


def test_a_number_under_caps_is_released_by_its_bin(table: Table, tmp_path: Path) -> None:
    result = fitted(table, "age", 70.0, caps=Caps(local_dp=5.0))
    mechanism = result.mechanism
    assert isinstance(mechanism, BinMechanism)
    assert result.reconstruction.loss <= 70.0
    assert exposed_words(result).startswith("records an adversary places within "), "a number is not named"
    assert law_free_figures(mechanism.release)[1] == pytest.approx(result.proof.local_dp)  # type: ignore[union-attr]
    assert result.audit.worst > result.reconstruction.loss
    assert result.proof is not None
    assert 0 < result.proof.adversaries[0].proved_loss < result.proof.adversaries[0].loss
    write_model(Model(mechanisms=(mechanism,)), tmp_path / "m.npz")
    (back,) = load_model(tmp_path / "m.npz").mechanisms
    first, second = (m.apply(table["age"], rng=np.random.default_rng(7))["age_released"] for m in (mechanism, back))
    assert (first == second).all()
    assert set(first) <= {f"s{i}" for i in range(40)}
    assert "40" not in repr(mechanism).split("release")[0], "no value of a record"


def test_caps_that_nothing_satisfies_say_how_far(table: Table) -> None:
    with pytest.raises(SanitizerError, match=r"a distortion of about [0-9.]+ would do"):
        fitted(table, "ill", 0.05, caps=Caps(local_dp=0.5))


@pytest.mark.parametrize(
    "mixture",
    [
        Mixture(components=(Modulo(period=9.0, blur=2.0), Modulo(period=math.inf, blur=1.0)), weights=(0.25, 0.75)),
        Mixture(components=(Erasure(), Noise(std=1.5)), weights=(0.5, 0.5)),
    ],
)
def test_a_model_survives_disk(mixture: Mixture, tmp_path: Path) -> None:
    write_model(Model(mechanisms=(NumberMechanism(column="age", mixture=mixture),)), tmp_path / "m.npz")
    (back,) = load_model(tmp_path / "m.npz").mechanisms
    assert isinstance(back, NumberMechanism)
    assert back.mixture == mixture
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_a_learned_component_survives_disk(tmp_path: Path) -> None:
    layers = tuple(start_weights("fold", hidden=30, period=1.5, noise=0.1, rng=np.random.default_rng(0)))
    learned = Learned(layers=layers, center=1.0, scale=2.0, mean=1.0, std=2.0)
    mechanism = NumberMechanism(column="age", mixture=Mixture(components=(learned,), weights=(1.0,)))
    write_model(Model(mechanisms=(mechanism,)), tmp_path / "m.npz")
    (back,) = load_model(tmp_path / "m.npz").mechanisms
    x = np.linspace(-3, 5, 40)
    first, second = (m.apply(x, rng=np.random.default_rng(7))["age_released"] for m in (mechanism, back))
    assert (first == second).all()


def test_a_category_that_few_rows_hold_is_released_too(table: Table) -> None:
    rare = np.where(np.arange(4000) == 7, "zrare", table["ill"])  # on one side of any halving of the rows
    for seed in range(2):
        mechanism = fit(
            rare,
            column="ill",
            authorized={"income": table["income"]},
            adversaries=[{"zip": table["zip"]}],
            distortion=0.2,
            names=QUICK[:1],
            rng=np.random.default_rng(seed),
            quick=True,
        ).mechanism
        assert isinstance(mechanism, CategoryMechanism)
        assert mechanism.release.shape[0] == 3
        assert len(mechanism.apply(rare, rng=np.random.default_rng(0))["ill_released"]) == 4000
        assert "zrare" not in repr(mechanism)


def test_a_category_model_survives_disk_and_refuses_new_values(tmp_path: Path) -> None:
    mechanism = CategoryMechanism(column="ill", values=("no", "yes"), release=np.array([[0.9, 0.1], [0.2, 0.8]]))
    write_model(Model(mechanisms=(mechanism,)), tmp_path / "m.npz")
    (back,) = load_model(tmp_path / "m.npz").mechanisms
    assert isinstance(back, CategoryMechanism)
    assert (back.release == mechanism.release).all()
    with pytest.raises(SanitizerError, match="1 rows of column 'ill'") as caught:
        back.apply(np.array(["no", "canary"]), rng=np.random.default_rng(0))
    assert "canary" not in str(caught.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SanitizerError, match="no model file"):
        load_model(tmp_path / "missing.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(SanitizerError, match="not a sanitizer model"):
        load_model(tmp_path / "text.npz")
    for header, match in [({"format": "aegis-sanitizer", "version": 99}, "format 99"), ({"format": "x"}, "not a")]:
        np.savez(tmp_path / "old.npz", header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8))
        with pytest.raises(SanitizerError, match=match):
            load_model(tmp_path / "old.npz")
    damaged = {"format": "aegis-sanitizer", "version": 3, "mechanisms": [{"column": "a", "kind": "number"}]}
    np.savez(tmp_path / "bad.npz", header=np.frombuffer(json.dumps(damaged).encode(), dtype=np.uint8))
    with pytest.raises(SanitizerError, match="damaged"):
        load_model(tmp_path / "bad.npz")


def attempt(private: np.ndarray[Any, Any], side: np.ndarray[Any, Any], distortion: float = 0.1) -> Fitted:
    other = np.random.default_rng(9).standard_normal(len(private))
    return fit(
        private,
        column="secret",
        authorized={"side": side},
        adversaries=[{"other": other}],
        distortion=distortion,
        names=QUICK,
        rng=np.random.default_rng(0),
        quick=True,
    )


def test_bad_tables_are_refused_with_a_sentence() -> None:
    rng = np.random.default_rng(0)
    x, side = rng.standard_normal(400), rng.standard_normal(400)
    letters = np.array(list("ab") * 200)
    cases: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], float, str]] = [
        (x[:50], side[:50], 0.1, "at least 300 rows"),
        (np.ones(400), side, 0.1, "constant"),
        (np.array([f"id{i}" for i in range(400)]), side, 0.1, "unique in every row"),
        (np.random.default_rng(0).permutation(400) + 7, side, 9.0, "unique in every row"),
        (np.array([f"v{i % 40}" for i in range(400)]), side, 0.1, "40 categories"),
        (np.where(x > 1, np.nan, x), side, 0.1, "missing values"),
        (x, np.where(side > 1, np.nan, side), 0.1, "column 'side' has"),
        (np.where(x > 1, np.inf, x), side, 0.1, "an infinite number counts as missing"),
        (1e150 * x, side, 1e299, "column 'secret' holds numbers beyond 1e\\+100"),
        (x, 1e150 * side, 0.1, "column 'side' holds numbers beyond"),
        (x, 3.0 * x + 1.0, 0.1, "'side' determines"),
        (letters, np.where(letters == "a", "p", "q"), 0.1, "'side' determines"),
        (x, side, 0.0, "positive number"),
        (x, side, -1.0, "positive number"),
    ]
    for private, given, distortion, match in cases:
        with pytest.raises(SanitizerError, match=match):
            attempt(private, given, distortion)
    with pytest.raises(SanitizerError, match="cannot be side information"):
        fit(x, column="s", authorized={"s": x}, adversaries=[{"o": side}], distortion=0.1, rng=rng)
    with pytest.raises(SanitizerError, match="at least one adversary"):
        fit(x, column="s", authorized={"o": side}, adversaries=[], distortion=0.1, rng=rng)


def test_more_distortion_than_silence_releases_nothing() -> None:
    rng = np.random.default_rng(3)
    side = rng.standard_normal(900)
    result = attempt(side + 0.5 * rng.standard_normal(900), side, distortion=50.0)
    assert isinstance(result.mechanism, NumberMechanism)
    assert result.mechanism.mixture.components == (Erasure(),)
