"""Clustered tables stand beside masking configurations: one gate, one ranking."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Aegis = Callable[..., Any]
QUASI = "age,zip,gender"


@pytest.fixture
def setting(aegis: Aegis, clinic: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The clinic without its roles file, a policy, and two clustered tables."""
    data = tmp_path / "data.csv"
    data.write_bytes((clinic / "clinic.csv").read_bytes())
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "quasi_identifying: [age, zip, gender]\nidentifying: [patient]\nk: 4\nmax_suppression: 0.05\n", encoding="utf-8"
    )
    for k, name in ((4, "clustered"), (2, "loose")):
        answer = aegis(
            "anonymize", data, "--quasi", QUASI, "--k", k, "--method", "mdav", "--out", tmp_path / f"{name}.csv"
        )
        assert answer.status == 0, answer.err
    return data, policy


def test_tables_and_configurations_are_ranked_and_judged_together(
    aegis: Aegis, clinic: Path, tmp_path: Path, setting: tuple[Path, Path]
) -> None:
    data, policy = setting
    answer = aegis(
        "advise", data, "--label", "health", "--configs", clinic / "configurations", "--hierarchies",
        clinic / "hierarchies", "--tables", tmp_path / "clustered.csv", "--tables", tmp_path / "loose.csv",
        "--policy", policy, "--json",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    found = answer.json
    names = [one["configuration"] for one in found["ranking"]]
    assert found["goal"] == "accuracy"
    assert {one["configuration"]: one["kind"] for one in found["ranking"]}["clustered"] == "table"
    assert "clustered" in names
    assert "decades" in names
    assert "k-anonymity" in found["rejected"]["loose"]
    reached = [one["performance"] for one in found["ranking"]]
    assert reached == sorted(reached, reverse=True)
    assert all(one["privacy"]["smallest_class"] >= 4 for one in found["ranking"])


def test_a_released_table_tells_what_its_configuration_tells(
    aegis: Aegis, clinic: Path, tmp_path: Path, setting: tuple[Path, Path]
) -> None:
    data, policy = setting
    config = clinic / "configurations" / "decades.yaml"
    released = tmp_path / "written.csv"
    answer = aegis("release", data, "--config", config, "--policy", policy, "--label", "health",
        "--insensitive", "rest", "--out", released,
    )  # fmt: skip
    assert answer.status == 0, answer.err
    found = aegis(
        "advise", data, "--label", "health", "--configs", config, "--tables", released, "--policy", policy,
        "--ledger", "none", "--json",
    ).json  # fmt: skip
    one, other = found["ranking"]
    assert {one["configuration"], other["configuration"]} == {"decades", "written"}
    assert one["in_best_group"]
    assert other["in_best_group"]
    assert one["performance"] == pytest.approx(other["performance"], abs=0.06)  # tested on other rows of the table


def test_a_table_of_other_records_is_refused(
    aegis: Aegis, clinic: Path, tmp_path: Path, setting: tuple[Path, Path]
) -> None:
    data, _ = setting
    more = tmp_path / "more.csv"
    lines = (tmp_path / "clustered.csv").read_text(encoding="utf-8")
    more.write_text(lines + lines.split("\n", 1)[1], encoding="utf-8")
    answer = aegis("advise", data, "--label", "health", "--quasi", QUASI, "--tables", more)
    assert answer.status == 2
    assert "not the same records" in answer.err


def test_a_clustered_table_is_released_with_a_certificate_like_any_other(
    aegis: Aegis, tmp_path: Path, setting: tuple[Path, Path]
) -> None:
    data, policy = setting
    out = tmp_path / "released.csv"
    publish = ("--policy", policy, "--insensitive", "rest", "--out", out)
    answer = aegis("release", tmp_path / "clustered.csv", "--rows-of", data, *publish)
    assert answer.status == 0, answer.err
    assert aegis("verify", out, tmp_path / "released.csv.certificate.json").status == 0
    loose = ("release", tmp_path / "loose.csv", "--policy", policy, "--insensitive", "rest", "--ledger", "none")
    refused = aegis(*loose, "--out", tmp_path / "no.csv")
    assert refused.status == 1
    assert not (tmp_path / "no.csv").exists()
