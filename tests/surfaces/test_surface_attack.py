"""``aegis attack``: the demo's two releases, limits of a policy, the page, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import aegis
from aegis.command_line import call
from aegis.errors import DataError, OptionError, PolicyError, PolicyNotSatisfiedError, VerificationError
from aegis.library import clinic


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clinic with the two releases of the demo, each certified."""
    folder = tmp_path_factory.mktemp("clinic")
    clinic.write_clinic(folder)
    for name in ("decades", "no-body"):
        aegis.release(
            folder / "clinic.csv",
            config=folder / "configurations" / f"{name}.yaml",
            policy=folder / "policy.yaml",
            out=folder / f"{name}.parquet",
            ledger="none",  # each by somebody who does not know of the other
        )
    limits = {**clinic.POLICY, "attacks": {"intersection": 0.01, "prosecutor": 0}}
    (folder / "limits.yaml").write_text(json.dumps(limits), encoding="utf-8")
    return folder


def test_two_certified_releases_single_out_six_hundred_patients(home: Path) -> None:
    """Each has k = 5; joined they name more than 602 of 12,000 patients, none wrongly."""
    found = aegis.attack(
        [home / "decades.parquet", home / "no-body.parquet"],
        original=home / "clinic.csv",
        policy=home / "policy.yaml",
        attacks=["intersection", "prosecutor"],
    )
    together, alone = found.results
    assert together.people == 12_000
    assert together.singled_out >= 602
    assert together.right == together.singled_out
    assert together.details["rows_linked"] >= 11_980
    assert (alone.singled_out, alone.details["fewest_rows"], alone.details["below_k"]) == (0, 5, 0)
    assert found.exit_status == 0, "the policy sets no limit"


def test_limits_of_the_policy_decide_the_exit_status(
    home: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    releases = [str(home / "decades.parquet"), str(home / "no-body.parquet")]
    rest = ["--original", str(home / "clinic.csv"), "--policy", str(home / "limits.yaml")]
    chosen = ["--attacks", "intersection,prosecutor"]
    page = tmp_path / "attacks.html"
    assert call(["attack", *releases, *rest, *chosen, "--json", "--report", str(page)]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["exceeded"] == ["intersection"]
    for result in printed["attacks"]:
        assert {"name", "singled_out", "right", "baseline", "interval"} <= set(result)
        assert result["interval"][0] <= result["interval"][1]
    text = page.read_text(encoding="utf-8")
    assert "<svg" in text
    assert "intersection exposes most" in text
    assert call(["attack", releases[0], *rest, "--attacks", "prosecutor"]) == 0
    assert "prosecutor" in capsys.readouterr().out


def test_bad_input_is_a_sentence(home: Path, tmp_path: Path) -> None:
    good = home / "decades.parquet"
    table = home / "clinic.csv"
    with pytest.raises(OptionError, match="no attack called"):
        aegis.attack([good], original=table, attacks=["nonsense"])
    with pytest.raises(DataError, match="there is no file"):
        aegis.attack([home / "nothing.csv"], original=table)
    with pytest.raises(OptionError, match="named twice"):
        aegis.attack([good, good], original=table)
    with pytest.raises(OptionError, match="one for each"):
        aegis.attack([good], original=table, config=[home / "configurations" / "decades.yaml"] * 2)
    with pytest.raises(PolicyError, match="limits the attack 'nonsense'"):
        aegis.attack([good], original=table, policy={**clinic.POLICY, "attacks": {"nonsense": 0}})
    with pytest.raises(PolicyError, match="attacks must give"):
        aegis.attack([good], original=table, policy={**clinic.POLICY, "attacks": 3})
    with pytest.raises(PolicyError, match="limit of prosecutor"):
        aegis.attack([good], original=table, policy={**clinic.POLICY, "attacks": {"prosecutor": 2}})
    other = tmp_path / "other.csv"
    other.write_text("colour,size\nred,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column of the original"):
        aegis.attack([other], original=table)
    strangers = tmp_path / "strangers.csv"
    strangers.write_text("age,weight\n" + "7,3\n" * 20, encoding="utf-8")
    with pytest.raises(DataError, match="or those of another table"):
        aegis.attack([strangers], original=table)
    swapped = tmp_path / "swapped.csv"
    swapped.write_text("age\n35\n", encoding="utf-8")
    beside = tmp_path / "swapped.csv.certificate.json"
    beside.write_bytes((home / "decades.parquet.certificate.json").read_bytes())
    with pytest.raises(VerificationError, match="not of this file"):
        aegis.attack([swapped], original=table)


def test_a_certificate_carries_the_attacks_and_a_limit_stops_a_release(home: Path, tmp_path: Path) -> None:
    table, config = home / "few.csv", home / "configurations" / "strict.yaml"
    lines = (home / "clinic.csv").read_text(encoding="utf-8").splitlines()[:801]
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (home / "few.roles.yaml").write_bytes((home / "clinic.roles.yaml").read_bytes())
    out = tmp_path / "released.csv"
    policy = {**clinic.POLICY, "attacks": {"prosecutor": 0}}
    made = aegis.release(table, config=config, policy=policy, out=out, attacks=["homogeneity"])
    listed = {entry["name"]: entry for entry in made.certificate.content["attacks"]}
    assert set(listed) == {"homogeneity", "prosecutor"}
    assert (listed["prosecutor"]["singled_out"], listed["prosecutor"]["limit"]) == (0, 0)
    verified = aegis.verify(out, made.certificate_path)
    assert verified.verified
    unsigned, free, page_beside, *measured, beside = verified.not_checked
    assert any("attacks" in line for line in measured)
    assert "signature" in unsigned
    assert "ward" in free
    assert "patient" not in free.split(":")[0], "its mask was checked"
    assert ".certificate.html" in page_beside
    assert "ledger" in beside
    page = made.certificate_path.with_suffix(".html").read_text(encoding="utf-8")
    assert "What attacks found" in page
    assert "0 of 800" in page
    strict = {**clinic.POLICY, "attacks": {"marketer": 0, "prosecutor": 0}}
    with pytest.raises(PolicyNotSatisfiedError, match="marketer exposes"):
        aegis.release(table, config=config, policy=strict, out=tmp_path / "never.csv")
    assert not list(tmp_path.glob("never*"))
    with pytest.raises(OptionError, match="needs several releases"):
        aegis.release(
            table, config=config, policy=policy, out=tmp_path / "never.csv", attacks=["intersection"], ledger="none"
        )
