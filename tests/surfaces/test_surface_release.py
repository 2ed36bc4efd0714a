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


def test_a_limit_says_for_how_many_tables_its_delta_is_enough(aegis: Aegis, tmp_path: Path) -> None:
    data = _write(tmp_path, "d.csv", "age,shoe\n3,41\n3,42\n")
    answer = aegis("ledger", "limit", data, "--epsilon", "3", "--delta", "1e-6")
    assert answer.status == 0
    assert "room for 1 such table" in " ".join(answer.err.split())


def test_columns_without_a_role_are_named(aegis: Aegis, tmp_path: Path) -> None:
    data = _write(tmp_path, "d.csv", "age,shoe\n3,41\n3,42\n")
    policy = _write(tmp_path, "p.yaml", "quasi_identifying: [age]\nk: 2\n")
    assert "no role was given to shoe" in aegis("check", data, "--policy", policy).err
    assert aegis("check", data, "--policy", policy, "--json").json["unlisted_are_insensitive"] == ["shoe"]
    config = _write(tmp_path, "c.yaml", "age: suppress\n")
    release = ("release", data, "--policy", policy, "--config", config, "--out", tmp_path / "r.csv")
    refused = aegis(*release)
    assert (refused.status, (tmp_path / "r.csv").exists()) == (2, False)
    assert "nobody gave shoe a role; add --insensitive shoe" in refused.err
    assert aegis(*release, "--insensitive", "shoe").status == 0
    certificate = json.loads((tmp_path / "r.csv.certificate.json").read_text(encoding="utf-8"))
    assert certificate["roles"]["insensitive"] == ["shoe"]


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
        database.execute("update released set health = 'elsewhere' where rowid = 3")
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
    common = ("release", data, "--policy", policy, "--config", config, "--insensitive", "n", "--out")
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
    assert row[:5] == ("*", "[300, 320)", "[71.8, inf)", "*", "*"), "weights are halves of a kilogram: no edge is one"


def _write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


GOOD = "age,zip,ill,y\n31,CANARY,flu,a\n32,CANARY2,none,b\n33,CANARY3,flu,a\n34,CANARY4,none,b\n"
POLICY = "quasi_identifying: [age, zip]\nk: 2\n"
DECIDED = f"{POLICY}insensitive: [ill, y]\n"
HIDE = "{age: suppress, zip: suppress}"
TREE = "{zip: {generalize: {level: 1, hierarchy: [%s]}}}"

# What is given to release: policy, configuration, further arguments; then the exit status and a part of the sentence.
MISTAKES: dict[str, tuple[str, str, list[str], int, str]] = {
    "policy names no such column": ("quasi_identifying: [shoe]\nk: 2\n", HIDE, [], 2, "'shoe'"),
    "policy asks for no such model": ("quasi_identifying: [age]\nmodels: [{vanish: {k: 1}}]\n", HIDE, [], 2, "vanish"),
    "policy has a word it does not know": ("quasi_identifying: [age]\nkk: 2\n", HIDE, [], 2, "kk"),
    "policy protects a quasi-identifier": ("quasi_identifying: [age]\nl: {age: 2}\n", HIDE, [], 2, "'age'"),
    "policy without quasi-identifiers": ("k: 2\n", HIDE, [], 2, "quasi-identifying"),
    "policy that is not YAML": ("k: [", HIDE, [], 2, "YAML"),
    "threshold too small": ("quasi_identifying: [age]\nk: 0\n", HIDE, [], 2, "k"),
    "threshold too large": ("quasi_identifying: [age]\nt: {ill: 1.5}\n", HIDE, [], 2, "t"),
    "threshold no number": ("quasi_identifying: [age]\nk: many\n", HIDE, [], 2, "k"),
    "suppression out of range": (POLICY + "max_suppression: 2\n", HIDE, [], 2, "max_suppression"),
    "policy nothing can meet": (
        "quasi_identifying: [age, zip]\nl: {ill: 3}\n",
        HIDE,
        [],
        1,
        "no masking can satisfy this policy",
    ),
    "policy not satisfied": (POLICY, "{zip: suppress}", [], 1, "k-anonymity: at least 2 asked, found 1"),
    "configuration masks no such column": (POLICY, "{shoe: suppress}", [], 2, "'shoe'"),
    "configuration of several": (POLICY, "{configurations: {a: {age: suppress}, b: {zip: suppress}}}", [], 2, "2 conf"),
    "hierarchy misses values": (POLICY, TREE % "[CANARY, c, '*']", [], 2, "misses 3 of its column's 4 values"),
    "hierarchy not monotone": (
        POLICY,
        TREE % "[CANARY, c, d, '*'], [CANARY2, c, e, '*']",
        [],
        2,
        "hierarchy",
    ),
    "unknown format": (POLICY, HIDE, ["--out", "{folder}/r.xlsx"], 2, ".csv or .parquet"),
    "output exists": (POLICY, HIDE, ["--out", "{exists}"], 2, "--overwrite"),
    "output is a folder": (POLICY, HIDE, ["--out", "{subfolder}", "--overwrite"], 2, "is a folder"),
    "outputs of one name": (POLICY, HIDE, ["--mapping", "{folder}/r.csv"], 2, "another output of this command"),
    "label absent": (POLICY, HIDE, ["--label", "shoe"], 2, "'shoe'"),
    "hierarchy needed": ("quasi_identifying: [age]\nt: {ill: {distance: hierarchical, t: 0.1}}", HIDE, [], 2, "'ill'"),
    "table URL without a table": (POLICY, HIDE, ["--out", "duckdb://{folder}/x.duckdb"], 2, "#table"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_loses_nothing(aegis: Aegis, tmp_path: Path, mistake: str) -> None:
    policy, config, more, status, said = MISTAKES[mistake]
    data = _write(tmp_path, "data.csv", GOOD)
    (tmp_path / "sub.csv").mkdir()
    places = {"folder": tmp_path, "exists": _write(tmp_path, "old.csv", "precious"), "subfolder": tmp_path / "sub.csv"}
    given = [
        argument.format(**places) if argument.startswith("{") or "{folder}" in argument else argument
        for argument in more
    ]
    if "--out" not in given:
        given += ["--out", str(tmp_path / "r.csv")]
    common = (data, "--policy", _write(tmp_path, "p.yaml", policy), "--config", _write(tmp_path, "c.yaml", config))
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    answer = aegis("release", *common, "--insensitive", "rest", *given)
    assert answer.status == status, answer.err
    assert answer.err.startswith("error: ")
    assert said in answer.err
    assert answer.err.count("\n") == 1, "one sentence"
    assert answer.out == ""
    assert "CANARY" not in answer.err
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before, "nothing is written or lost"


def test_tampering_is_one_sentence_and_exit_status_1(aegis: Aegis, tmp_path: Path) -> None:
    data = _write(tmp_path, "data.csv", GOOD)
    common = ("--policy", _write(tmp_path, "p.yaml", DECIDED), "--config", _write(tmp_path, "c.yaml", HIDE))
    out, certificate = tmp_path / "r.csv", tmp_path / "r.csv.certificate.json"
    assert aegis("release", data, *common, "--out", out).status == 0
    whole = out.read_text(encoding="utf-8")
    out.write_text(whole.replace("flu", "CANARY", 1), encoding="utf-8")
    for more in ((), ("--json",)):
        answer = aegis("verify", out, certificate, *more)
        assert answer.status == 1
        assert "its hash differs" in answer.out
        assert "CANARY" not in answer.out + answer.err
    out.write_text(whole, encoding="utf-8")
    certificate.write_text(certificate.read_text(encoding="utf-8").replace('"k": 2', '"k": 3'), encoding="utf-8")
    answer = aegis("verify", out, certificate)
    assert answer.status == 1
    assert "was changed after it was written" in answer.out
    unmarked = {key: value for key, value in json.loads(certificate.read_text()).items() if key != "aegis_certificate"}
    certificate.write_text(json.dumps(unmarked), encoding="utf-8")
    assert aegis("verify", out, certificate).status == 1
    for missing in ((tmp_path / "no.csv", certificate), (out, tmp_path / "no.json")):
        answer = aegis("verify", *missing)
        assert answer.status == 2
        assert "there is no" in answer.err


@pytest.mark.parametrize("what", ["{", "{}", "[]", "7", "the release", "a folder"])
def test_what_is_no_certificate_is_bad_input(aegis: Aegis, tmp_path: Path, what: str) -> None:
    data = _write(tmp_path, "data.csv", GOOD)
    common = ("--policy", _write(tmp_path, "p.yaml", DECIDED), "--config", _write(tmp_path, "c.yaml", HIDE))
    out = tmp_path / "r.parquet"
    assert aegis("release", data, *common, "--out", out).status == 0
    given = {"the release": out, "a folder": tmp_path}.get(what) or _write(tmp_path, "no.json", what)
    answer = aegis("verify", out, given)
    assert answer.status == 2
    assert answer.out == ""
    assert "is not a certificate" in answer.err


def test_protected_summaries_are_ranked_and_say_how_they_were_made(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    common = ("summarize", clinic / "clinic.csv", "--configs", clinic / "configurations", "--json", "--out")
    assert aegis(*common, tmp_path / "plain", "--no-race").json["protection"] is None
    merged = aegis(*common, tmp_path / "merged", "--min-count", "5")
    assert merged.json["protection"]["min_count"] == 5
    assert merged.json["protection"]["merged"]
    private = aegis(*common, tmp_path / "private", "--epsilon", "2")
    stated = private.json["protection"]
    assert stated["epsilon_each"] * stated["attributes"] == pytest.approx(2.0)
    shown = {name: aegis("exposure", tmp_path / name, "--json").json for name in ("plain", "merged", "private")}
    assert shown["plain"]["records_below_k"] > 0
    assert (shown["merged"]["records_below_k"], shown["merged"]["records_below_k_with_label"]) == (0, 0)
    assert shown["merged"]["smallest_cell_with_label"] >= 5
    assert shown["private"]["noisy"] is True
    for name in ("merged", "private"):
        ranked = aegis("advise", tmp_path / name, "--json")
        assert ranked.status == 0, ranked.err
        assert len(ranked.json["ranking"]) == 12
        assert ranked.json["measure"] == "leave-one-out-information", "pairs were counted without protection"
        assert any("scores of pairs of attributes" in note for note in ranked.json["notes"])
    assert any("epsilon 2" in note for note in ranked.json["notes"])
    assert "smallest" in aegis("exposure", tmp_path / "plain").out


def test_the_exposure_of_opaque_masks_is_never_called_safe(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    common = ("summarize", clinic / "clinic.csv", "--configs", clinic / "configurations", "--no-race", "--out")
    assert aegis(*common, tmp_path / "opaque", "--opaque").status == 0
    assert aegis(*common, tmp_path / "plain").status == 0
    shown = aegis("exposure", tmp_path / "opaque", "--json").json
    plain = aegis("exposure", tmp_path / "plain", "--json").json
    assert plain["caveat"] is None
    assert "lower bounds on what is exposed" in shown["caveat"]
    assert shown["opaque"] is True
    for attribute in shown["attributes"]:
        assert attribute["partitions"] == len(attribute["masks"]) > 0
    assert any(len(attribute["masks"]) > 1 for attribute in shown["attributes"])
    seen = aegis("exposure", tmp_path / "opaque")
    assert seen.status == 0
    assert "caveat: opaque masks cannot be laid over each other" in seen.out
    assert f"{shown['attributes'][0]['name']} · {shown['attributes'][0]['masks'][0]['id']}" in seen.out


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--min-count", "1"), "2 or more"),
        (("--epsilon", "0"), "epsilon"),
        (("--min-count", "5", "--epsilon", "1"), "or an epsilon"),
        (("--min-count", "100000"), "too few rows"),
    ],
)
def test_protections_that_make_no_sense_write_nothing(
    aegis: Aegis, clinic: Path, tmp_path: Path, wrong: tuple[str, ...], said: str
) -> None:
    answer = aegis("summarize", clinic / "clinic.csv", "--generate", "2", "--out", tmp_path / "s", *wrong)
    assert answer.status == 2
    assert said in answer.err
    assert list(tmp_path.iterdir()) == []
