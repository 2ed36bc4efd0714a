"""Check, release, verify and apply as people use them: the contract, every mistake one sentence, and no cell value."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

Aegis = Callable[..., Any]


@pytest.fixture
def strict(clinic: Path) -> tuple[object, ...]:
    """The clinic, a policy and a configuration that satisfies it."""
    return (
        clinic / "clinic.csv",
        "--policy",
        clinic / "policy.yaml",
        "--config",
        clinic / "configurations/strict.yaml",
    )


def test_check_prints_the_object_of_the_contract(aegis: Aegis, strict: tuple[object, ...], clinic: Path) -> None:
    answer = aegis("check", *strict, "--json")
    assert answer.status == 0
    found = answer.json
    assert {"satisfied", "models", "classes", "records", "suppressed"} <= set(found)
    assert (found["satisfied"], found["records"]) == (True, 1_500)
    for model in found["models"]:
        assert {"name", "attribute", "threshold", "value", "satisfied"} <= set(model)
    raw = aegis("check", clinic / "clinic.csv", "--policy", clinic / "policy.yaml", "--json")
    assert raw.status == 1
    assert raw.json["satisfied"] is False
    assert raw.json["reason"]


def test_check_says_sizes_and_never_values(aegis: Aegis, tmp_path: Path) -> None:
    data = _write(tmp_path, "d.csv", "age,zip,ill\n31,CANARY,flu\n31,CANARY2,flu\n44,CANARY,none\n")
    policy = _write(tmp_path, "p.yaml", "quasi_identifying: [age, zip]\nk: 2\nl: {ill: 2}\n")
    for more in ((), ("--json",)):
        answer = aegis("check", data, "--policy", policy, *more)
        assert answer.status == 1
        assert "CANARY" not in answer.out + answer.err
        assert "31" not in answer.out
    assert "no role was given" not in answer.err


def test_columns_without_a_role_are_named(aegis: Aegis, tmp_path: Path) -> None:
    data = _write(tmp_path, "d.csv", "age,shoe\n3,41\n3,42\n")
    policy = _write(tmp_path, "p.yaml", "quasi_identifying: [age]\nk: 2\n")
    assert "no role was given to shoe" in aegis("check", data, "--policy", policy).err
    assert aegis("check", data, "--policy", policy, "--json").json["unlisted_are_insensitive"] == ["shoe"]
    config = _write(tmp_path, "c.yaml", "age: suppress\n")
    assert aegis("release", data, "--policy", policy, "--config", config, "--out", tmp_path / "r.csv").status == 0
    certificate = json.loads((tmp_path / "r.csv.certificate.json").read_text(encoding="utf-8"))
    assert certificate["roles"]["unlisted_are_insensitive"] == ["shoe"]
    assert "nobody gave them a role" in (tmp_path / "r.csv.certificate.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("more", [(), ("--drop-suppressed",), ("--no-shuffle",)])
def test_a_release_verifies(
    aegis: Aegis, strict: tuple[object, ...], tmp_path: Path, suffix: str, more: tuple[str, ...]
) -> None:
    out = tmp_path / f"released.{suffix}"
    answer = aegis("release", *strict, "--out", out, *more, "--json")
    assert answer.status == 0, answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        out.name,
        f"{out.name}.certificate.html",
        f"{out.name}.certificate.json",
    ]
    certificate = json.loads(Path(f"{out}.certificate.json").read_text(encoding="utf-8"))
    assert certificate["release"]["rows"] == 1_500 - (
        answer.json["suppressed"] if more == ("--drop-suppressed",) else 0
    )
    assert certificate["utility"]["kept_share"] > 0
    verified = aegis("verify", out, f"{out}.certificate.json", "--json")
    assert verified.status == 0, verified.out
    assert verified.json["verified"] is True
    assert aegis("verify", out, f"{out}.certificate.json").out.strip().endswith("verified")


def test_a_release_to_a_database_verifies(
    aegis: Aegis, strict: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"duckdb://{tmp_path}/shop.duckdb#released"
    assert aegis("release", *strict, "--out", url).status == 0
    assert aegis("verify", url, "released.certificate.json").status == 0
    again = aegis("release", *strict, "--out", url)
    assert again.status == 2
    assert "exists already" in again.err
    assert aegis("release", *strict, "--out", url, "--overwrite").status == 0
    assert aegis("verify", url, "released.certificate.json").status == 0
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as database:
        assert [name for (name,) in database.execute("show tables").fetchall()] == ["released"]
        database.execute("update released set health = 'good' where rowid = 3")
    tampered = aegis("verify", url, "released.certificate.json")
    assert tampered.status == 1
    assert "hash differs" in tampered.out


def test_the_masked_rows_of_an_unmasked_identifier_are_hidden(
    aegis: Aegis, strict: tuple[object, ...], tmp_path: Path
) -> None:
    assert aegis("release", *strict, "--out", tmp_path / "r.csv").status == 0
    assert duckdb.sql(f"select distinct patient from '{tmp_path}/r.csv'").fetchall() == [("*",)]


def test_rows_are_shuffled_unless_told_otherwise(aegis: Aegis, tmp_path: Path) -> None:
    lines = "".join(f"{i % 2},{i}\n" for i in range(200))
    data = _write(tmp_path, "d.csv", "a,n\n" + lines)
    policy = _write(tmp_path, "p.yaml", "quasi_identifying: [a]\nk: 2\n")
    config = _write(tmp_path, "c.yaml", "a: identity\n")
    common = ("release", data, "--policy", policy, "--config", config, "--out")
    assert aegis(*common, tmp_path / "s.csv").status == 0
    assert aegis(*common, tmp_path / "o.csv", "--no-shuffle").status == 0
    assert (tmp_path / "o.csv").read_text(encoding="utf-8") == "a,n\n" + lines
    shuffled = (tmp_path / "s.csv").read_text(encoding="utf-8")
    assert shuffled != "a,n\n" + lines
    assert sorted(shuffled.splitlines()) == sorted(("a,n\n" + lines).splitlines())


def test_apply_masks_new_rows_with_what_was_fitted(
    aegis: Aegis, strict: tuple[object, ...], clinic: Path, tmp_path: Path
) -> None:
    more = ("--fitted", tmp_path / "f.yaml", "--mapping", tmp_path / "m.csv")
    assert aegis("release", *strict, "--out", tmp_path / "r.csv", *more).status == 0
    assert (tmp_path / "m.csv").stat().st_mode & 0o777 == 0o600
    header = (clinic / "clinic.csv").read_text(encoding="utf-8").splitlines()[0]
    new = _write(tmp_path, "new.csv", f"{header}\nP9,300,999.5,99999,x,1,true,2031-05-05,Q,none,good\n")
    answer = aegis("apply", new, "--config", tmp_path / "f.yaml", "--out", tmp_path / "applied.csv", "--json")
    assert answer.status == 0, answer.err
    assert answer.json["fitted_here"] == []
    (row,) = duckdb.sql(f"select * from read_csv('{tmp_path}/applied.csv', all_varchar=true)").fetchall()
    assert row[:5] == ("*", "[300, 320)", "[72, inf)", "*", "*")


def _write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
