"""``aegis sanitize`` as people use it: a table, a model, a page, and no cell value in a mistake."""

from __future__ import annotations

import csv
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from aegis.candidates.sanitizers import encoding, posterior
from aegis.library.sanitize import Sanitized, sanitize

Aegis = Callable[..., Any]
ROWS = 1600
PARTIES = ("--authorized", "income,hours", "--adversary", "zip", "--adversary", "job")
QUICK = ("--attackers", "neighbours")


@pytest.fixture(name="aegis")
def without_ledgers(aegis: Aegis) -> Aegis:
    """The tests share a table: nothing that one of them writes counts for another (tests/unit has the ledger's own)."""

    def run(*words: Any) -> Any:
        alone = ("--ledger", "none") if words[0] == "sanitize" and "--out" in words and "--ledger" not in words else ()
        return aegis(*words, *alone)

    return run


@pytest.fixture(scope="module", autouse=True)
def lines_for_networks() -> Iterator[None]:
    """Beliefs from lines, which take a moment; what networks make of a table is asked in the unit tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior, "find_spec", lambda name: None)
        yield


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with planted canaries in every text column."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((ROWS, 3))
    path = tmp_path_factory.mktemp("people") / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "age", "income", "hours", "zip", "job", "ill", "blood", "one", "gap", "copy", "weight"])
        for i in range(ROWS):
            age = round(40 + 12 * (0.7 * z[i, 0] + 0.5 * z[i, 1] + 0.5 * z[i, 2]))
            ill = 0.7 * z[i, 0] + 0.7 * rng.standard_normal() > 0.3
            rows.writerow(
                [
                    f"CANARY{i}",
                    age,
                    f"{np.exp(0.6 * z[i, 0] + 0.6 * z[i, 1]):.2f}",
                    f"{z[i, 1]:.3f}",
                    f"0{2100 + int(np.clip(z[i, 2] * 20 + 50, 0, 99))}",
                    "CANARYx" if z[i, 0] > 0 else "CANARYy",
                    "CANARYyes" if ill else "CANARYno",
                    "ABO"[rng.integers(3)] if i % 9 else "0-CANARY",
                    "CANARY",
                    "" if i % 50 == 7 else "CANARYgap",
                    3 * age + 1,
                    f"{70 + 9 * z[i, 2] + i * 1e-6:.6f}",
                ]
            )
    return path


def read(path: Path) -> dict[str, list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}


def _first(path: Path, lines: int) -> str:
    return "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:lines])


@pytest.fixture(scope="module")
def fitted(people: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sanitized table, its model and its page: a number and a category together."""
    folder = tmp_path_factory.mktemp("fitted")
    sanitize(
        people,
        private=["age", "ill"],
        authorized=["income", "hours"],
        adversary=[["zip"], ["job"]],
        distortion=[30.0, 0.24],
        attackers=["neighbours"],
        out=folder / "out.csv",
        model=folder / "model.npz",
        report=folder / "page.html",
        ledger="none",
    )
    return folder


def test_each_authorised_group_gets_a_file_and_a_reconstructor_that_meets_its_own_distortion(
    aegis: Aegis, people: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    answer = aegis(
        "sanitize", people, "--private", "ill", "--authorized", "income,hours", "--distortion", "0.24",
        "--also-authorized", "hours,weight:0.3", "--adversary", "zip", *QUICK, "--out", out,
        "--model", tmp_path / "model.npz", "--report", tmp_path / "page.html", "--json",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    (column,) = answer.json["columns"]
    assert [group["distortion"] for group in column["groups"]] == [0.24, 0.3]
    for group in column["groups"]:
        assert group["reconstruction"]["loss"] <= group["distortion"]
    second = tmp_path / "out-authorized-2.csv"
    assert set(read(second)) == {"ill_released", "hours", "weight"}
    assert set(read(tmp_path / "out-authorized.csv")) == {"ill_released", "income", "hours"}
    assert answer.json["further_files"] == [str(second), str(second.with_suffix(".npz"))]
    assert second.stat().st_mode & 0o077 == 0, "a group's file is its own"
    estimates = tmp_path / "estimates.csv"
    made = aegis("reconstruct", out, "--with", second, "--model", second.with_suffix(".npz"), "--out", estimates)
    assert made.status == 0, made.err
    wrong = np.mean(np.array(read(estimates)["ill_estimate"]) != np.array(read(people)["ill"]))
    assert wrong <= 0.3 + 0.03, "what was promised, up to the chance of these rows"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "authorised group 2" in page
    again = aegis("sanitize", people, "--model", tmp_path / "model.npz", "--out", tmp_path / "again.csv")
    assert again.status == 0, again.err
    assert set(read(tmp_path / "again-authorized-2.csv")) == {"ill_released", "hours", "weight"}


@pytest.mark.parametrize(
    ("more", "words"),
    {
        "no distortion": (["--also-authorized", "hours,weight"], "such as income,hours:0.2"),
        "a number without a cap": (["--also-authorized", "hours,weight:9"], "for several authorised groups name a cap"),
        "all of it known": (
            ["--also-authorized", "zip:9", "--posterior", "0.9"],
            "knows every column of the authorised",
        ),
    }.values(),
)
def test_a_group_that_cannot_be_served_is_one_sentence(
    aegis: Aegis, people: Path, tmp_path: Path, more: list[str], words: str
) -> None:
    answer = aegis(
        "sanitize", people, "--private", "age", *PARTIES, *more, "--distortion", "30", "--out", tmp_path / "o.csv"
    )
    assert answer.status == 2
    assert words in " ".join(answer.err.split())
    assert not list(tmp_path.iterdir())


def test_every_recipient_gets_its_own_columns_and_nothing_else(people: Path, fitted: Path) -> None:
    before, public, own = read(people), read(fitted / "out.csv"), read(fitted / "out-authorized.csv")
    # no column is known to both adversaries, so the public file holds the releases alone
    assert all(name.startswith(("age_", "ill_")) for name in public)
    assert {name for name in own if not name.startswith(("age_", "ill_"))} == {"income", "hours"}
    for column in ("income", "hours"):
        assert own[column] == before[column], "values as written, rows in order"
    for column in public:
        assert own[column] == public[column], "both hold the same release"
    shown = np.array([float(f or "nan") for f in public["age_released"]])
    age = np.array([float(a) for a in before["age"]])
    # a release drawn from a continuous law lies near its value now and then: by chance, for few records
    assert not (shown == age).any(), "no value is written as it is"
    assert np.isclose(shown, age).mean() < 0.01, "and few come near it by chance"
    assert set(public["ill_released"]) <= {f"s{i}" for i in range(8)}
    assert (fitted / "out-authorized.csv").stat().st_mode & 0o077 == 0
    assert (fitted / "out-authorized.npz").stat().st_mode & 0o077 == 0


def test_the_certificate_names_the_sanitizer_its_caps_and_its_audit(fitted: Path) -> None:
    content = json.loads((fitted / "out.csv.certificate.json").read_text(encoding="utf-8"))
    assert content["sanitized"] == ["age", "ill"]
    assert content["caps"]["determined"] == 0.01
    assert [one["column"] for one in content["audits"]] == ["age", "ill"]
    for one, asked in zip(content["audits"], (30.0, 0.24), strict=True):
        assert one["reconstruction"]["loss"] <= asked
        assert one["audit"]["adversaries"][0]["attacker"]
        assert "exact" in one["audit"]["adversaries"][0]["by_attacker"], "who knows the mechanism is always there"
    assert all(one["equal"] <= 0.01 for one in content["written"])
    assert "CANARY" not in json.dumps(content["audits"][0])


def test_the_authorised_party_has_the_promised_error(aegis: Aegis, people: Path, fitted: Path, tmp_path: Path) -> None:
    asked = ("reconstruct", fitted / "out.csv", "--with", fitted / "out-authorized.csv")
    answer = aegis(*asked, "--model", fitted / "out-authorized.npz", "--out", tmp_path / "e.csv", "--json")
    assert answer.status == 0, answer.err
    before, got = read(people), read(tmp_path / "e.csv")
    age, guess = (np.array([float(v) for v in part]) for part in (before["age"], got["age_estimate"]))
    assert ((age - guess) ** 2).mean() <= 1.15 * 30.0
    wrong = np.mean([a != b for a, b in zip(before["ill"], got["ill_estimate"], strict=True)])
    assert wrong <= 1.15 * 0.24
    assert answer.json["error_on_rows_kept_apart"]["age"] <= 30.0
    again = aegis(*asked, "--model", fitted / "model.npz", "--out", tmp_path / "f.csv")
    assert again.status == 2
    assert "not a reconstructor" in again.err
    short = tmp_path / "short.csv"
    short.write_text(_first(fitted / "out-authorized.csv", 30), encoding="utf-8")
    fewer = aegis(
        "reconstruct", fitted / "out.csv", "--with", short, "--model", fitted / "out-authorized.npz",
        "--out", tmp_path / "g.csv",
    )  # fmt: skip
    assert fewer.status == 2
    assert "rows" in fewer.err


def test_the_page_stands_alone_and_shows_no_record(people: Path, fitted: Path) -> None:
    html = (fitted / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)=|<script|https?://(?!www\.w3\.org)", html)
    assert "Map from age" in html
    assert "CANARYyes" in html, "a category that many records have is a published domain value"
    assert not re.search(r"CANARY\d", html)
    assert "see the releases of all private columns" in html
    assert "a posterior of at least 0.99" in html
    assert re.search(r"CANARYyes\s+[0-9.]+", html), "said for each value"
    assert "noise of the same error" in html


def test_the_model_is_arrays_and_json(fitted: Path) -> None:
    with zipfile.ZipFile(fitted / "model.npz") as file:
        assert all(name.endswith(".npy") for name in file.namelist())
    with np.load(fitted / "model.npz", allow_pickle=False) as arrays:
        header = json.loads(arrays["header"].tobytes())
    assert [one["column"] for one in header["mechanisms"]] == ["age", "ill"]
    assert (fitted / "model.npz").stat().st_mode & 0o077 == 0


def test_a_model_applies_to_new_rows(aegis: Aegis, people: Path, fitted: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text(_first(people, 60), encoding="utf-8")
    one, two, three = (tmp_path / f"{name}.csv" for name in ("one", "two", "three"))
    answer = aegis("sanitize", new, "--model", fitted / "model.npz", "--out", one, "--seed", "5", "--json")
    assert answer.status == 0, answer.err
    assert answer.json["rows"] == 59
    assert answer.json["noise"] == "from the seed"
    assert aegis("sanitize", new, "--model", fitted / "model.npz", "--out", two, "--seed", "5").status == 0
    assert one.read_bytes() == two.read_bytes()
    policy = tmp_path / "policy.yaml"
    policy.write_text("quasi_identifying: [job]\nk: 2\n", encoding="utf-8")
    left = aegis("release", new, "--policy", policy, "--insensitive", "rest", "--out", tmp_path / "left.csv")
    assert left.status == 0, left.err
    again = ("sanitize", new, "--model", fitted / "model.npz", "--out", three)
    refused = aegis(*again, "--ledger", f"{new}.ledger.jsonl")
    assert refused.status == 1
    assert "'age' left as it is in entry 2 (left.csv)" in refused.err
    assert not three.exists()
    assert aegis(*again).status == 0
    assert read(three)["age_released"] != read(one)["age_released"], "without a seed the noise is fresh"
    assert read(tmp_path / "three-authorized.csv")["income"] == read(new)["income"]


def test_fresh_noise_cannot_be_drawn_again_and_parquet_is_written(aegis: Aegis, people: Path, tmp_path: Path) -> None:
    common = ("sanitize", people, "--private", "weight", *PARTIES, "--distortion", "20", "--family", "noise", *QUICK)
    refused = aegis(*common, "--out", tmp_path / "r.parquet")
    assert refused.status == 1
    assert "does not protect from adversary 1" in refused.err, "who knows the zip code knows the weight"
    assert not list(tmp_path.glob("r*"))
    for name in ("a", "b"):
        answer = aegis(*common, "--despite-adversary", "--out", tmp_path / f"{name}.parquet")
        assert answer.status == 0, answer.err
        assert "pinned" in answer.out or "places within" in answer.out
        assert "warning: weight: adversary 1 errs no more than the authorised party" in answer.err
    a, b = (pyarrow.parquet.read_table(tmp_path / f"{name}.parquet") for name in ("a", "b"))
    assert a["weight_released"] != b["weight_released"]
    assert a.drop_columns(["weight_released"]).equals(b.drop_columns(["weight_released"]))
    assert sorted(p.name for p in tmp_path.glob("a*")) == [
        "a-authorized.npz", "a-authorized.parquet", "a.parquet", "a.parquet.certificate.json",
    ]  # fmt: skip


def test_more_than_saturation_releases_nothing_and_says_so(aegis: Aegis, people: Path, tmp_path: Path) -> None:
    out = tmp_path / "o.csv"
    answer = aegis("sanitize", people, "--private", "age", *PARTIES, "--distortion", "9999", *QUICK, "--out", out)
    assert answer.status == 0, answer.err
    assert "it is silent" in answer.err
    assert set(read(tmp_path / "o-authorized.csv")["age_released"]) == {""}


ZERO = "the distortion must be a positive number; a distortion of 0 releases the column itself"
MISTAKES: dict[str, tuple[list[str], str]] = {
    "constant": (
        ["--private", "one", *PARTIES, "--distortion", "0.1"],
        "column 'one' is constant; there is nothing to protect",
    ),
    "unique": (
        ["--private", "id", *PARTIES, "--distortion", "0.1"],
        "column 'id' is unique in every row; a sanitizer cannot learn from an identifier",
    ),
    "a copy": (
        ["--private", "age", "--authorized", "copy", "--adversary", "zip", "--distortion", "9"],
        "column 'copy' determines the private column 'age'; leave it out of the side information",
    ),
    "itself": (
        ["--private", "age", "--authorized", "age", "--adversary", "zip", "--distortion", "9"],
        "column 'age' is private and cannot be side information",
    ),
    "private is known": (
        ["--private", "age,ill", "--authorized", "income", "--adversary", "ill", "--distortion", "9"],
        "'ill' is private",
    ),
    "zero distortion": (["--private", "age", *PARTIES, "--distortion", "0"], ZERO),
    "negative distortion": (["--private", "age", *PARTIES, "--distortion", "-3"], ZERO),
    "no number": (["--private", "age", *PARTIES, "--distortion", "much"], "takes numbers"),
    "no distortion": (["--private", "age", *PARTIES], "--distortion"),
    "three distortions": (["--private", "age,ill", *PARTIES, "--distortion", "1,2,3"], "one distortion for all"),
    "twice": (["--private", "age,age", *PARTIES, "--distortion", "1"], "named twice"),
    "too many categories": (
        ["--private", "zip", "--authorized", "income", "--adversary", "job", "--distortion", "0.1"],
        "group them into at most 60",
    ),
    "nobody authorised": (["--private", "age", "--adversary", "job", "--distortion", "9"], "authorised party needs"),
    "unknown column": (["--private", "nope", *PARTIES, "--distortion", "1"], "there is no column 'nope'"),
    "unknown side": (["--private", "age", "--adversary", "nope", "--distortion", "1"], "there is no column 'nope'"),
    "no adversary": (["--private", "age", "--authorized", "income", "--distortion", "1"], "adversary"),
    "unknown family": (["--private", "age", *PARTIES, "--distortion", "9", "--family", "magic"], "--family cannot be"),
    "free": (
        ["--private", "age", *PARTIES, "--distortion", "9", "--family", "free"],
        "--family cannot be",
    ),
    "posterior": (
        ["--private", "ill", *PARTIES, "--distortion", "0.1", "--posterior", "2"],
        "--posterior is a probability",
    ),
    "too little distortion": (
        ["--private", "weight", *PARTIES, "--distortion", "0.0001", *QUICK],
        "only the values themselves would keep it",
    ),
    "unknown attacker": (
        ["--private", "age", *PARTIES, "--distortion", "9", "--attackers", "magic"],
        "attackers cannot be",
    ),
    "nothing to do": ([], "--private"),
    "apply with parties": ([*PARTIES], "--private"),
    "apply with a family": (["--model", "m.npz", "--family", "noise"], "a saved model is applied as it is"),
    "apply with a page": (["--model", "m.npz", "--report", "r.html"], "leave out --report"),
    "model and table alike": (
        ["--private", "age", *PARTIES, "--distortion", "9", "--model", "{out}"],
        "a name of its own",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_writes_nothing(aegis: Aegis, people: Path, tmp_path: Path, mistake: str) -> None:
    arguments, said = MISTAKES[mistake]
    out = tmp_path / "out.csv"
    given = [argument.replace("{out}", str(out)) for argument in arguments]
    answer = aegis("sanitize", people, *given, "--out", out)
    assert answer.status == 2, answer.err
    assert said in answer.err
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert "CANARY" not in answer.err
    assert list(tmp_path.iterdir()) == []


def test_too_few_rows_are_refused(aegis: Aegis, people: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.csv"
    few.write_text(_first(people, 100), encoding="utf-8")
    answer = aegis("sanitize", few, "--private", "age", *PARTIES, "--distortion", "9", "--out", tmp_path / "o.csv")
    assert answer.status == 2
    assert answer.err == "error: fitting and auditing a sanitizer needs at least 300 rows in column 'age'\n"
    assert [p.name for p in tmp_path.iterdir()] == ["few.csv"]


def _model(path: Path, header: object, **arrays: Any) -> Path:
    with path.open("wb") as stream:
        np.savez(stream, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)
    return path


BITS = np.array([[0.9, 0.1], [0.2, 0.8]])
MODELS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "another version": (
        {"format": "aegis-sanitizer", "version": 7},
        {},
        "m.npz was written in format 7 and this version of Aegis reads 3; fit the model again",
    ),
    "another program": ({"format": "CANARY"}, {}, "not a sanitizer model"),
    "not an object": (["CANARY"], {}, "not a sanitizer model"),
    "nothing inside": (
        {"format": "aegis-sanitizer", "version": 3, "mechanisms": [], "public": [], "authorized": [[]]},
        {},
        "damaged",
    ),
    "half a mechanism": (
        {
            "format": "aegis-sanitizer",
            "version": 3,
            "public": [],
            "authorized": [[]],
            "mechanisms": [{"column": "age"}],
        },
        {},
        "damaged",
    ),
    "no probabilities": (
        {
            "format": "aegis-sanitizer",
            "version": 3,
            "public": [],
            "authorized": [[]],
            "mechanisms": [{"column": "ill", "kind": "category", "values": ["CANARYno", "CANARYyes"]}],
        },
        {"mechanism0_release": BITS * np.nan},
        "damaged",
    ),
    "absent column": (
        {
            "format": "aegis-sanitizer",
            "version": 3,
            "public": [],
            "authorized": [[]],
            "mechanisms": [{"column": "nope", "kind": "category", "values": ["a", "b"]}],
        },
        {"mechanism0_release": BITS},
        "there is no column 'nope'",
    ),
    "unseen values": (
        {
            "format": "aegis-sanitizer",
            "version": 3,
            "public": [],
            "authorized": [[]],
            "mechanisms": [{"column": "ill", "kind": "category", "values": ["a", "b"]}],
        },
        {"mechanism0_release": BITS},
        "1600 rows of column 'ill' hold values",
    ),
    "text for a number": (
        {
            "format": "aegis-sanitizer",
            "version": 3,
            "public": [],
            "authorized": [[]],
            "mechanisms": [
                {"column": "ill", "kind": "number", "weights": [1.0], "components": [{"kind": "noise", "std": 1.0}]}
            ],
        },
        {},
        "holds text where the model expects numbers",
    ),
}


@pytest.mark.parametrize("mistake", MODELS)
def test_a_model_that_does_not_fit_is_refused(aegis: Aegis, people: Path, tmp_path: Path, mistake: str) -> None:
    header, arrays, said = MODELS[mistake]
    model = _model(tmp_path / "m.npz", header, **arrays)
    answer = aegis("sanitize", people, "--model", model, "--out", tmp_path / "o.csv")
    assert answer.status == 2, answer.err
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert "CANARY" not in answer.err
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]


def test_what_is_no_model_is_refused(aegis: Aegis, people: Path, tmp_path: Path) -> None:
    for name, content, said in (("t.npz", b"CANARY", "not a sanitizer model"), ("none.npz", None, "no model file")):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        answer = aegis("sanitize", people, "--model", tmp_path / name, "--out", tmp_path / "o.csv")
        assert answer.status == 2
        assert said in answer.err
        assert "CANARY" not in answer.err


def test_nothing_is_replaced_or_half_written(
    aegis: Aegis, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "m.npz"
    model.write_text("mine", encoding="utf-8")
    asked = ("sanitize", people, "--private", "ill", *PARTIES, "--distortion", "0.24", *QUICK, "--model", model)
    answer = aegis(*asked, "--out", tmp_path / "o.csv")
    assert answer.status == 2
    assert "exists already" in answer.err

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("aegis.library.releasing.sanitized_release.write_model", interrupt)
        assert aegis(*asked, "--overwrite", "--out", tmp_path / "o.csv").status == 130
    assert [p.name for p in tmp_path.iterdir()] == ["m.npz"]
    assert model.read_text(encoding="utf-8") == "mine"


def test_a_refused_audit_is_status_1_and_writes_nothing(
    aegis: Aegis, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aegis.errors import VerificationError

    def refuse(*_: object, **__: object) -> None:
        raise VerificationError("the audit rejects this")

    monkeypatch.setattr("aegis.candidates.sanitizers.capped_column.refuse_certain", refuse)
    asked = ("sanitize", people, "--private", "ill", *PARTIES, "--distortion", "0.24", *QUICK)
    answer = aegis(*asked, "--out", tmp_path / "o.csv", "--model", tmp_path / "m.npz", "--report", tmp_path / "r.html")
    assert answer.status == 1
    assert list(tmp_path.iterdir()) == []


DATASETS = Path(os.environ.get("AEGIS_DATASETS", Path(__file__).parents[3] / "shared" / "datasets"))


@pytest.mark.datasets
def test_a_sanitized_table_is_ranked_judged_released_and_verified_like_any_other(aegis: Aegis, tmp_path: Path) -> None:
    """German credit: how people live, for who knows their property and not for who knows their job.

    Seeded: fresh noise now and then draws a symbol fewer than five times, and then the gate rightly refuses the table.
    """
    data, sanitized, released = (tmp_path / f"{name}.csv" for name in ("data", "sanitized", "released"))
    data.write_bytes((DATASETS / "german/german_credit_coded.csv").read_bytes())
    answer = aegis(
        "sanitize", data, "--private", "housing", "--authorized", "property_magnitude,age,residence_since",
        "--adversary", "job,own_telephone,class", "--distortion", "0.2", *QUICK, "--keep-names", "--seed", "3",
        "--json", "--out", sanitized,
    )  # fmt: skip
    assert answer.status == 0, answer.err
    assert answer.json["released"] == ["housing"]
    assert set(read(sanitized)["housing"]) <= {f"s{i}" for i in range(9)}
    assert read(sanitized)["own_telephone"] == read(data)["own_telephone"]
    assert set(read(sanitized)) == {"housing", "job", "own_telephone", "class"}
    policy, config = tmp_path / "policy.yaml", tmp_path / "plain.yaml"
    policy.write_text("quasi_identifying: [housing, own_telephone]\nk: 5\n", encoding="utf-8")
    config.write_text("housing: {suppress: {}}\n", encoding="utf-8")
    asked = ("--label", "class", "--configs", config, "--tables", sanitized, "--policy", policy, "--json")
    ranking = aegis("advise", data, *asked)
    assert ranking.status == 0, ranking.err
    assert {one["configuration"] for one in ranking.json["ranking"]} == {"plain", "sanitized"}
    assert aegis("check", sanitized, "--policy", policy).status == 0
    publish = ("--policy", policy, "--label", "class", "--insensitive", "job", "--out", released)
    alone = aegis("release", sanitized, *publish)
    assert alone.status == 2
    assert f"was made of the rows of data by aegis sanitize: aegis release TABLE --rows-of {data}" in alone.err
    done = aegis("release", sanitized, "--rows-of", data, *publish)
    assert done.status == 0, done.err
    assert aegis("verify", released, released.with_name(released.name + ".certificate.json")).status == 0
    # the gate is a gate: classes that only the suppressed column makes large enough
    policy.write_text("quasi_identifying: [housing, own_telephone]\nk: 350\n", encoding="utf-8")
    assert aegis("check", sanitized, "--policy", policy).status == 1
    strict = aegis("advise", data, *asked).json
    assert [one["configuration"] for one in strict["ranking"]] == ["plain"]
    assert "k-anonymity" in strict["rejected"]["sanitized"]
    # two symbols in a class may hide one value, so a policy on the column's values is judged on the truth or not at all
    policy.write_text("quasi_identifying: [own_telephone]\nk: 5\nl: {housing: 2}\n", encoding="utf-8")
    for asking in (("check", sanitized), ("release", sanitized, "--out", tmp_path / "again.csv")):
        refused = aegis(*asking, "--policy", policy)
        assert refused.status == 2
        assert "holds what a sanitizer released" in refused.err
    assert aegis("advise", data, *asked, "--ledger", "none").status == 2


def test_caps_are_proved_on_the_answer_the_page_and_the_certificate(aegis: Aegis, people: Path, tmp_path: Path) -> None:
    asked = ("sanitize", people, "--private", "ill", *PARTIES, *QUICK, "--seed", "3")
    answer = aegis(
        *asked, "--distortion", "0.25", "--local-dp", "3.5", "--coalition", "--out", tmp_path / "o.csv",
        "--report", tmp_path / "page.html",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    assert "proved with 95 % confidence" in answer.out
    assert "whoever holds the public file and all authorised ones" in answer.err
    assert "each alone tells ill better than nothing" in answer.err
    content = json.loads((tmp_path / "o.csv.certificate.json").read_text(encoding="utf-8"))
    (audited,) = content["audits"]
    assert content["caps"]["asked"]["local_dp"] == 3.5
    assert audited["proof"]["local_dp"] <= 3.5 + 1e-6
    assert len(audited["proof"]["adversaries"]) == 3, "two and their coalition"
    assert content["recipients"]["adversaries"][2] == ["zip", "job"]
    assert any("only audited" in words for words in audited["proof"]["assumptions"])
    assert content["written"][0]["both_files_loss"] <= 0.25
    assert "job" in {proxy["column"] for proxy in content["written"][0]["proxies"]}
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "proved for the worst adversary" in page
    assert "CANARYyes" not in json.dumps(content)
    assert (
        any("hold only if the law is as estimated" in words for words in audited["proof"]["in_words"])
        != (audited["proof"]["holds_for_set"])
    )
    low = aegis(*asked, "--distortion", "0.25", "--posterior", "0.3", "--out", tmp_path / "low.csv")
    assert low.status == 2
    assert re.search(r"without any release; the lowest cap on posteriors that can hold is 0\.\d+", low.err)
    assert not list(tmp_path.glob("low*"))
    far = aegis(*asked, "--distortion", "0.05", "--local-dp", "0.5", "--out", tmp_path / "far.csv")
    assert far.status == 2
    assert re.search("a distortion of about [0-9.]+", far.err)
    assert not (tmp_path / "far.csv").exists()


def test_columns_are_released_jointly_and_reconstructed_one_by_one(aegis: Aegis, people: Path, tmp_path: Path) -> None:
    jointly = ("--private", "ill,one_more", "--jointly", "--local-dp", "2.5")
    table = read(people)
    data = tmp_path / "d.csv"
    lines = ["income,hours,zip,job,ill,one_more"]
    for i, (income, hours, code, job, ill) in enumerate(
        zip(*(table[name] for name in ("income", "hours", "zip", "job", "ill")), strict=True)
    ):
        lines.append(f"{income},{hours},{code},{job},{ill},{'a' if float(hours) > 0 or i % 5 == 0 else 'b'}")
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = ("--out", tmp_path / "o.csv", "--model", tmp_path / "m.npz")
    answer = aegis("sanitize", data, *jointly, *PARTIES, *QUICK, "--distortion", "0.2", "--seed", "1", "--json", *files)
    assert answer.status == 0, answer.err
    assert answer.json["private"] == ["ill+one_more"]
    assert set(read(tmp_path / "o.csv")) == {"ill+one_more_released"}
    back = aegis(
        "reconstruct", tmp_path / "o.csv", "--with", tmp_path / "o-authorized.csv", "--model",
        tmp_path / "o-authorized.npz", "--out", tmp_path / "e.csv",
    )  # fmt: skip
    assert back.status == 0, back.err
    found = read(tmp_path / "e.csv")
    wrong = np.mean([a != b for a, b in zip(table["ill"], found["ill_estimate"], strict=True)])
    guessed = found["one_more_estimate"]
    other = np.mean([line.rsplit(",", 1)[1] != b for line, b in zip(lines[1:], guessed, strict=True)])
    assert (wrong + other) / 2 <= 1.15 * 0.2
    again = aegis("sanitize", data, "--model", tmp_path / "m.npz", "--out", tmp_path / "n.csv")
    assert again.status == 0, again.err
    assert set(read(tmp_path / "n.csv")) == {"ill+one_more_released"}


def test_guesses_may_cost_what_a_table_says(aegis: Aegis, people: Path, tmp_path: Path) -> None:
    """To take an ill person for a healthy one costs four times as much as the other way round."""
    costs = tmp_path / "costs.csv"
    costs.write_text(",CANARYno,CANARYyes\nCANARYno,0,1\nCANARYyes,4,0\n", encoding="utf-8")
    asked = ("sanitize", people, "--private", "ill", *PARTIES, *QUICK, "--seed", "1", "--json")
    answer = aegis(
        *asked, "--distortion", "0.35", "--costs", costs, "--out", tmp_path / "o.csv", "--report", tmp_path / "o.html"
    )
    assert answer.status == 0, answer.err
    (column,) = answer.json["columns"]
    assert column["reconstruction"]["loss"] <= 0.35
    assert 0.35 < column["max_distortion"] < 1.0, "who knows nothing says ill, which costs at most 1"
    assert "mean cost" in (tmp_path / "o.html").read_text(encoding="utf-8")
    for content, words in (
        (",CANARYno\nCANARYno,0\n", "misses 1 of the 2 values"),
        (",CANARYno,CANARYyes\nCANARYno,0,1\nCANARYyes,many,0\n", "no numbers"),
        (",CANARYno,CANARYyes\nCANARYno,0,1\nCANARYyes,-4,0\n", "from zero up"),
        (",CANARYno,CANARYyes\nCANARYno,2,1\nCANARYyes,4,0\n", "a right guess costs nothing"),
        ("", "a line of guesses"),
    ):
        costs.write_text(content, encoding="utf-8")
        refused = aegis(*asked, "--distortion", "0.35", "--costs", costs, "--out", tmp_path / "n.csv")
        assert refused.status == 2
        assert words in refused.err
        assert "CANARY" not in refused.err
        assert not (tmp_path / "n.csv").exists()


def test_errors_on_a_category_may_be_counted_in_bits(aegis: Aegis, people: Path, tmp_path: Path) -> None:
    """The promise is about chances: the reconstructor states them, and they lose what was promised."""
    asked = ("sanitize", people, *PARTIES, *QUICK, "--loss", "log", "--seed", "1", "--json")
    files = ("--out", tmp_path / "o.csv", "--report", tmp_path / "o.html")
    answer = aegis(*asked, "--private", "ill", "--distortion", "0.6", *files)
    assert answer.status == 0, answer.err
    (column,) = answer.json["columns"]
    assert column["loss"] == "log"
    assert column["reconstruction"]["loss"] <= 0.6 < column["max_distortion"] <= 1.01
    for adversary, proved in zip(column["audit"]["adversaries"], column["proof"]["adversaries"], strict=True):
        assert set(adversary["by_attacker"]) == {"exact", "side alone", "neighbours", "table"}
        assert adversary["loss"] > 0.4
        assert 0.15 < proved["proved_loss"] < proved["loss"], "of 533 rows"
    assert column["proof"]["loss_under_law"] > 0.995 * column["proof"]["most_any_release_leaves"], (
        "the bound is reached"
    )
    assert "bits" in (tmp_path / "o.html").read_text(encoding="utf-8")
    done = Sanitized.from_json(answer.json)
    (audited,) = done.audits
    assert audited.proof is not None
    estimated = replace(audited, proof=replace(audited.proof, holds_for_set=False, posterior=0.995))
    assert "hold only if the law is as estimated from" in replace(done, audits=(estimated,)).warnings[0]
    certificate = json.loads((tmp_path / "o.csv.certificate.json").read_text(encoding="utf-8"))
    assert certificate["loss"] == {"ill": "log"}
    back = aegis(
        "reconstruct", tmp_path / "o.csv", "--with", tmp_path / "o-authorized.csv", "--model",
        tmp_path / "o-authorized.npz", "--out", tmp_path / "e.csv",
    )  # fmt: skip
    assert back.status == 0, back.err
    found = read(tmp_path / "e.csv")
    chances = {value: np.array(found[f"ill={value}"], dtype=float) for value in ("CANARYno", "CANARYyes")}
    assert np.allclose(chances["CANARYno"] + chances["CANARYyes"], 1.0)
    lost = [-np.log2(chances[value][row]) for row, value in enumerate(read(people)["ill"])]
    assert np.mean(lost) <= 1.05 * 0.6
    for options, words in (
        (("--private", "age", "--distortion", "20"), "is a number: its error is the squared one"),
        (("--private", "ill", "--distortion", "0.6", "--costs", "c.csv"), "take one of them"),
    ):
        refused = aegis(*asked, *options, "--out", tmp_path / "n.csv")
        assert refused.status == 2
        assert words in refused.err
        assert not (tmp_path / "n.csv").exists()


def test_a_number_is_released_jointly_by_its_range(
    aegis: Aegis, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "_MOST_RANGES", 3)  # the time of the program grows with the number of tuples
    table = read(people)
    data = tmp_path / "d.csv"
    doses = [round(20 + 10 * float(hours), 1) for hours in table["hours"]]
    rows = zip(*(table[name] for name in ("income", "zip", "job", "ill")), doses, strict=True)
    data.write_text("\n".join(["income,zip,job,ill,dose", *(",".join(map(str, row)) for row in rows)]) + "\n")
    parties = ("--authorized", "income,job", "--adversary", "zip")
    asked = ("sanitize", data, "--private", "ill,dose", "--jointly", *parties, *QUICK, "--distortion", "0.1")
    files = ("--out", tmp_path / "o.csv", "--model", tmp_path / "m.npz")
    first = aegis(*asked, "--seed", "1", *files)
    assert first.status == 0, f"the program keeps 'ill' in doubt, not only the tuples: {first.err}"
    answer = aegis(*asked, "--local-dp", "5", "--seed", "1", "--json", "--overwrite", *files)
    assert answer.status == 0, answer.err
    (column,) = answer.json["columns"]
    assert column["column"] == "ill+dose"
    assert column["proof"]["posterior"] <= 1
    assert answer.json["written"][0]["determined"] <= 0.05
    back = aegis(
        "reconstruct", tmp_path / "o.csv", "--with", tmp_path / "o-authorized.csv", "--model",
        tmp_path / "o-authorized.npz", "--out", tmp_path / "e.csv",
    )  # fmt: skip
    assert back.status == 0, back.err
    estimates = np.array(read(tmp_path / "e.csv")["dose_estimate"], dtype=float)
    assert np.unique(estimates).size <= 3
    assert np.corrcoef(estimates, doses)[0, 1] > 0.3
    new = aegis("sanitize", data, "--model", tmp_path / "m.npz", "--out", tmp_path / "n.csv")
    assert new.status == 0, new.err
    assert len(read(tmp_path / "n.csv")["ill+dose_released"]) == len(doses)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--private", "ill", "--posterior", "1.5"), "--posterior is a probability"),
        (("--private", "ill", "--leakage", "0"), "--leakage is a positive number"),
        (("--private", "ill", "--local-dp", "-1"), "--local-dp is a positive number"),
        (("--private", "ill", "--local-dp", "40"), "--local-dp 40 protects nobody"),
        (("--private", "ill", "--jointly"), "--jointly needs two"),
        (("--private", "ill,blood", "--train"), "--train is for one private column"),
        (("--private", "ill,blood", "--costs", "c.csv"), "--costs is for one private column"),
        (("--private", "ill", "--costs", "nowhere.csv"), "nowhere.csv cannot be read"),
        (("--private", "ill", "--checkpoint", "c.npz"), "--train"),
    ],
)
def test_caps_that_make_no_sense_are_refused(
    aegis: Aegis, people: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    answer = aegis("sanitize", people, *options, *PARTIES, "--distortion", "0.2", "--out", tmp_path / "o.csv")
    assert answer.status == 2
    assert words in answer.err


def test_a_policy_judges_the_true_values(aegis: Aegis, tmp_path: Path) -> None:
    """In every class of one job all records have one truth, and the symbols of the release would hide that."""
    rng = np.random.default_rng(1)
    job = rng.integers(0, 40, 1600)
    hint = rng.integers(0, 2, 1600)
    ill = np.where(job < 4, 1, np.where(rng.random(1600) < 0.25, 1 - hint, hint))
    data = tmp_path / "d.csv"
    lines = ["job,hint,ill", *(f"j{j},h{h},{'yes' if i else 'no'}" for j, h, i in zip(job, hint, ill, strict=True))]
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    policy = tmp_path / "policy.yaml"
    asked = ("sanitize", data, "--private", "ill", "--authorized", "hint", "--adversary", "job", "--distortion", "0.2")
    policy.write_text("quasi_identifying: [job]\nk: 5\nl: {ill: 2}\n", encoding="utf-8")
    answer = aegis(*asked, *QUICK, "--policy", policy, "--out", tmp_path / "o.csv")
    assert answer.status == 1
    assert "judged by the true values of ill" in answer.err
    assert not (tmp_path / "o.csv").exists()


def test_missing_and_infinite_numbers_are_said_and_can_be_reconstructed(
    aegis: Aegis, people: Path, tmp_path: Path
) -> None:
    lines = people.read_text(encoding="utf-8").splitlines()
    place = lines[0].split(",").index("income")
    for row, value in ((3, "inf"), (9, ""), (40, "-Infinity")):
        cells = lines[row].split(",")
        cells[place] = value
        lines[row] = ",".join(cells)
    data = tmp_path / "gaps.csv"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = ("--out", tmp_path / "o.csv")
    answer = aegis(
        "sanitize", data, "--private", "ill", *PARTIES, *QUICK, "--distortion", "0.25", "--seed", "1", *files
    )
    assert answer.status == 0, answer.err
    said = "income: 3 missing values stand at the median of the others (an infinite number counts as missing)"
    assert said in answer.err
    own = tmp_path / "o-authorized.csv"
    made = aegis(
        "reconstruct", tmp_path / "o.csv", "--with", own, "--model", own.with_suffix(".npz"), "--out",
        tmp_path / "e.csv",
    )  # fmt: skip
    assert made.status == 0, made.err
    assert said in made.err
    wrong = np.mean(np.array(read(tmp_path / "e.csv")["ill_estimate"]) != np.array(read(people)["ill"]))
    assert wrong <= 1.15 * 0.25
