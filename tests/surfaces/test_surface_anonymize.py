"""``aegis anonymize``: the contract, rows in order, and what was promised counted again on the file."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest

Aegis = Callable[..., Any]
QUASI = ("age", "zip", "gender")
FOLDER = Path(os.environ.get("AEGIS_DATASETS", Path(__file__).parents[3] / "shared" / "datasets"))
GERMAN = FOLDER / "german" / "german_credit_labelled.csv"


def _rows(path: Path) -> dict[str, list[Any]]:
    read: dict[str, list[Any]] = pyarrow.csv.read_csv(path).to_pydict()
    return read


@pytest.mark.parametrize(
    ("method", "more"),
    [("mo-obam", ["--l", "2", "--seconds", "1"]), ("mdav", []), ("k-member", ["--l", "2"])],
)
def test_what_is_written_keeps_k_and_l(
    aegis: Aegis, clinic: Path, tmp_path: Path, method: str, more: list[str]
) -> None:
    out = tmp_path / "out.csv"
    answer = aegis(
        "anonymize", clinic / "clinic.csv", "--method", method, "--quasi", ",".join(QUASI), "--sensitive", "diagnosis",
        "--k", "6", *more, "--out", out, "--json",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    found = answer.json
    assert {
        "method", "classes", "distinct_tuples", "smallest_class", "information_loss", "lower_bound", "entropy",
        "linkage", "homogeneity", "before", "seconds",
    } <= set(found)  # fmt: skip
    assert set(found["linkage"]) == {"0.05", "0.075", "0.1"}
    before, after = _rows(clinic / "clinic.csv"), _rows(out)
    assert set(after["patient"]) == {"*"}, "an identifying column does not leave"
    assert found["identifying_suppressed"] == ["patient"]
    for column in before:
        if column not in (*QUASI, "patient"):
            assert after[column] == before[column], "other columns and their order are untouched"
    tuples = list(zip(*(after[column] for column in QUASI), strict=True))
    sizes = Counter(tuples)
    assert min(sizes.values()) >= 6
    assert min(sizes.values()) == found["smallest_class"]
    assert len(sizes) == found["distinct_tuples"]
    if "--l" in more:
        values: dict[Any, set[Any]] = {}
        for one, value in zip(tuples, after["diagnosis"], strict=True):
            values.setdefault(one, set()).add(value)
        assert min(len(each) for each in values.values()) >= 2
        assert found["homogeneity"] == 0


MISTAKES = {  # what is given, and the sentence with the nearest that can be
    "k above the records": (
        ["--k", "2000"],
        "k = 2000 needs at least 2000 records and the table has 1500: use k of at most 1500",
    ),
    "k times classes above the records": (
        ["--k", "100", "--classes", "30"],
        "30 classes of at least k = 100 need 3000 records and the table has 1500: use at most 15 classes, or k of at "
        "most 50",
    ),
    "more classes than tuples": (
        ["--k", "5", "--quasi", "gender", "--classes", "20"],
        "20 classes are more than the 3 distinct quasi-identifier tuples: use at most 3",
    ),
    "l above the values": (
        ["--k", "5", "--l", "9"],
        "l = 9 is above the 6 value(s) of sensitive attribute 'diagnosis': use l of at most 6, or leave it out",
    ),
    "l above the values, by k-member": (
        ["--k", "5", "--l", "9", "--method", "k-member"],
        "l = 9 is above the 6 value(s) of sensitive attribute 'diagnosis': use l of at most 6, or leave it out",
    ),
    "sensitive and quasi": (
        ["--k", "5", "--sensitive", "age"],
        "'age' is named both quasi_identifying and sensitive; give",
    ),
    "unknown method": (["--k", "5", "--method", "magic"], "there is no anonymizer called 'magic'"),
    "unknown column": (["--k", "5", "--quasi", "nope"], "the roles name column 'nope', which the table does not have"),
    "categories of no quasi-identifier": (
        ["--k", "5", "--categorical", "ward"],
        "'ward' is no quasi-identifier, so nothing asks whether it is categorical",
    ),
    "trade-off for mdav": (
        ["--k", "5", "--method", "mdav", "--trade-off", "0.5"],
        "mdav does not use a trade-off (--trade-off); leave it out, or use mo-obam",
    ),
    "seconds for mdav": (["--k", "5", "--method", "mdav", "--seconds", "3"], "does not use a time limit (--seconds)"),
    "l for mdav": (["--k", "5", "--method", "mdav", "--l", "2"], "leave it out, or use boxes, k-member or mo-obam"),
    "trade-off": (["--k", "5", "--trade-off", "3"], "between 0 and 1"),
    "unknown centre": (["--k", "5", "--centroid", "medoit"], "--centroid cannot be 'medoit'; did you mean 'medoid'?"),
    "threshold": (["--k", "5", "--tau", "2"], "above 0 and at most 1"),
    "threshold in words": (["--k", "5", "--tau", "low"], "--tau takes numbers separated by commas"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_cannot_be_is_refused(aegis: Aegis, clinic: Path, tmp_path: Path, mistake: str) -> None:
    given, said = MISTAKES[mistake]
    arguments = ["--quasi", ",".join(QUASI), "--sensitive", "diagnosis", *given]
    answer = aegis("anonymize", clinic / "clinic.csv", *arguments, "--out", tmp_path / "out.csv")
    assert answer.status == 2, answer.err
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("asked", [["--l", "2"], ["--trade-off", "0.5"]], ids=["l", "trade-off"])
def test_nothing_is_asked_of_secrets_that_nobody_named(aegis: Aegis, tmp_path: Path, asked: list[str]) -> None:
    data = _people(tmp_path / "people.csv", list(range(20, 50)))
    answer = aegis("anonymize", data, "--quasi", "age,sex", "--k", "3", *asked, "--out", tmp_path / "out.csv")
    assert answer.status == 2
    assert answer.err == (
        "error: no column is sensitive, so there are no values to mix: name some with --sensitive; leave out "
        f"{asked[0]}\n"
    )
    assert not (tmp_path / "out.csv").exists()


def test_people_at_risk_are_counted_for_any_threshold(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    answer = aegis(
        "anonymize", clinic / "clinic.csv", "--quasi", ",".join(QUASI), "--k", "4", "--method", "mdav", "--tau",
        "0.2,0.3", "--out", out, "--json",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    found = answer.json
    after = _rows(out)
    sizes = Counter(zip(*(after[column] for column in QUASI), strict=True))
    for tau in ("0.05", "0.075", "0.1", "0.2", "0.3"):
        assert found["linkage"][tau] == sum(size for size in sizes.values() if 1 / size > float(tau))
        assert found["before"]["linkage"][tau] >= found["linkage"][tau] or float(tau) < 0.25
    assert found["linkage"]["0.3"] == 0  # k = 4 protects everybody from 0.25 up


def _people(path: Path, ages: list[object]) -> Path:
    lines = [f"{age},{'fm'[i % 2]},{'abc'[i % 3]}" for i, age in enumerate(ages)]
    path.write_text("age,sex,ill\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("ages", "said"),
    [
        ([34], "a table of 1 record(s) cannot be anonymized: a class needs at least two records"),
        (
            ["Zanzibar", *range(20, 49)],
            "column 'age' holds text, but 29 of its 30 cells read as numbers: convert it to numbers and clean the "
            "rest, or name it categorical (--categorical)",
        ),
    ],
    ids=["one record", "a number read as text"],
)
@pytest.mark.parametrize("method", ["mo-obam", "mdav", "k-member"])
def test_files_that_cannot_be_clustered_are_refused(
    aegis: Aegis, tmp_path: Path, method: str, ages: list[object], said: str
) -> None:
    data = _people(tmp_path / "people.csv", ages)
    given = ["--quasi", "age,sex", "--sensitive", "ill", "--k", "2", "--method", method, "--out", tmp_path / "out.csv"]
    answer = aegis("anonymize", data, *given)
    assert answer.status == 2, answer.err
    assert answer.err == f"error: {said}\n"
    assert "Zanzibar" not in answer.err
    assert not (tmp_path / "out.csv").exists()


def test_missing_numbers_stand_at_the_median_and_that_is_said(aegis: Aegis, tmp_path: Path) -> None:
    data = _people(tmp_path / "people.csv", ["", *range(20, 49)])
    given = ["--quasi", "age,sex", "--k", "3", "--method", "mdav", "--out", tmp_path / "out.csv"]
    answer = aegis("anonymize", data, *given)
    assert answer.status == 0, answer.err
    assert "age: 1 missing values stand at the median of the others" in answer.err
    assert ",," not in (tmp_path / "out.csv").read_text()


@pytest.mark.parametrize("method", ["mdav", "k-member", "mo-obam"])
def test_no_class_is_named_by_the_text_or_the_birthday_of_one_person(aegis: Aegis, tmp_path: Path, method: str) -> None:
    """The mode of texts that all differ was the first of them, and of days the earliest."""
    born = [f"{1950 + number % 50}-{1 + number % 12:02d}-{1 + 7 * number % 28:02d}" for number in range(60)]
    villages = ["Bonn" if number % 3 else f"Village {number:02d}" for number in range(60)]
    rows = [f"{born},{village},{number % 2}" for number, (born, village) in enumerate(zip(born, villages, strict=True))]
    rows[7] = f",{villages[7]},1"
    data, out = tmp_path / "people.csv", tmp_path / "out.csv"
    data.write_text("\n".join(["born,village,ill", *rows]), encoding="utf-8")
    answer = aegis(
        "anonymize", data, "--method", method, "--quasi", "born,village", "--k", "4", "--out", out,
        *(["--seconds", "1"] if method == "mo-obam" else []),
    )  # fmt: skip
    assert answer.status == 0, answer.err
    assert "village: 20 records with a text that few people have" in answer.err
    assert "born: 1 missing values stand at the median" in answer.err
    after = _rows(out)
    assert set(after["village"]) <= {"Bonn", "*"}
    assert all(isinstance(day, date) for day in after["born"])
    assert len(set(after["born"])) > 3
    assert not {str(day) for day in after["born"]} <= set(born)
    assert min(Counter(zip(after["born"], after["village"], strict=True)).values()) >= 4


def test_text_that_reads_as_numbers_may_be_named_categorical_and_codes_need_not(aegis: Aegis, tmp_path: Path) -> None:
    text = _people(tmp_path / "text.csv", ["unknown", *([20, 30, 40] * 10)])
    given = ["--quasi", "age,sex", "--k", "2", "--method", "mdav"]
    assert aegis("anonymize", text, *given, "--categorical", "age", "--out", tmp_path / "named.csv").status == 0
    codes = _people(tmp_path / "codes.csv", ["02139", "02140", "94110"] * 10)
    assert aegis("anonymize", codes, *given, "--out", tmp_path / "coded.csv").status == 0


def test_a_missing_category_is_one_more_category(aegis: Aegis, tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    lines = [f"{20 + i},{'' if i < 4 else 'fm'[i % 2]},{'ab'[i % 2]}" for i in range(20)]
    data.write_text("age,sex,ill\n" + "\n".join(lines) + "\n", encoding="utf-8")
    out = tmp_path / "out.csv"
    answer = aegis("anonymize", data, "--quasi", "age,sex", "--k", "4", "--method", "mdav", "--out", out, "--json")
    assert answer.status == 0, answer.err
    assert sorted(set(_rows(out)["sex"])) in (["", "f", "m"], ["", "f"], ["", "m"])


def test_an_output_that_exists_is_not_replaced(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    out.write_text("mine", encoding="utf-8")
    answer = aegis("anonymize", clinic / "clinic.csv", "--quasi", "age", "--k", "5", "--method", "mdav", "--out", out)
    assert answer.status == 2
    assert out.read_text(encoding="utf-8") == "mine"


@pytest.mark.datasets
@pytest.mark.skipif(not GERMAN.exists(), reason="the public benchmark data is not here")
def test_a_real_table_is_clustered_ranked_released_and_verified(aegis: Aegis, tmp_path: Path) -> None:
    """As the owner of German credit would: anonymize, check, rank beside masks by what models reach, release."""
    quasi, secrets = "age,personal_status,job", "checking_status,savings_status"
    policy, config = tmp_path / "policy.yaml", tmp_path / "coarse.yaml"
    policy.write_text(
        f"quasi_identifying: [{quasi}]\nsensitive: [{secrets}]\nk: 10\nl: 2\nmax_suppression: 0\n", encoding="utf-8"
    )
    config.write_text(
        "age: {bucketize: {width: 40, origin: 0}}\npersonal_status: suppress\njob: suppress\n", encoding="utf-8"
    )
    clustered, out = tmp_path / "clustered.csv", tmp_path / "released.csv"
    given = ["--quasi", quasi, "--sensitive", secrets, "--k", "10", "--l", "2", "--seconds", "1"]
    assert aegis("anonymize", GERMAN, *given, "--out", clustered).status == 0
    assert aegis("check", clustered, "--policy", policy).status == 0
    assert aegis("check", GERMAN, "--policy", policy).status == 1
    ranked = aegis(
        "advise", GERMAN, "--label", "class", "--configs", config, "--tables", clustered, "--policy", policy, "--json"
    )
    assert ranked.status == 0, ranked.err
    assert ranked.json["goal"] == "accuracy"
    assert {entry["configuration"] for entry in ranked.json["ranking"]} == {"clustered", "coarse"}
    # Which of the two is ahead depends on how far a second of search comes; that performance orders them does not.
    reached = [entry["performance"] for entry in ranked.json["ranking"]]
    assert reached == sorted(reached, reverse=True)
    assert min(reached) > ranked.json["guessing"] - 0.05
    publish = ("release", clustered, "--policy", policy, "--insensitive", "rest", "--out", out)
    refused = aegis(*publish)
    assert refused.status == 2
    assert f"--rows-of {GERMAN.resolve()}" in refused.err
    released = aegis(*publish, "--ledger", "none")  # no ledger beside the public table
    assert released.status == 0, released.err
    certificate = tmp_path / "released.csv.certificate.json"
    assert aegis("verify", out, certificate).status == 0
    rows = [Counter(zip(*_rows(path).values(), strict=True)) for path in (out, clustered)]
    assert rows[0] == rows[1], "a release shuffles the records and changes nothing else"
    lines = out.read_text(encoding="utf-8").splitlines()
    out.chmod(0o644)
    out.write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    assert aegis("verify", out, certificate).status == 1


def test_ctrl_c_writes_the_best_valid_table_so_far(
    aegis: Aegis, clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal comes while the search runs; what is written keeps k and l all the same."""
    from aegis.candidates.clusters.optimise import Search

    improve = Search.improve

    def interrupted(self: Search, budget: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        improve(self, budget)

    monkeypatch.setattr(Search, "improve", interrupted)
    out = tmp_path / "out.csv"
    answer = aegis(
        "anonymize", clinic / "clinic.csv", "--quasi", ",".join(QUASI), "--sensitive", "diagnosis", "--k", "5", "--l",
        "2", "--seconds", "60", "--out", out, "--json",
    )  # fmt: skip
    assert answer.status == 130
    assert answer.json["finished"] == "interrupted"
    assert answer.json["seconds"] < 30
    assert "best valid table so far" in answer.err
    after = _rows(out)
    classes: dict[Any, list[Any]] = {}
    for one in zip(*(after[column] for column in (*QUASI, "diagnosis")), strict=True):
        classes.setdefault(one[:-1], []).append(one[-1])
    assert min(len(secrets) for secrets in classes.values()) >= 5
    assert min(len(set(secrets)) for secrets in classes.values()) >= 2


def test_boxes_say_that_they_were_judged_alone_and_the_next_command_lets_them_go(
    aegis: Aegis, clinic: Path, tmp_path: Path
) -> None:
    data, boxed, policy = tmp_path / "clinic.csv", tmp_path / "boxed.csv", clinic / "policy.yaml"
    data.write_bytes((clinic / "clinic.csv").read_bytes())
    answer = aegis("anonymize", data, "--method", "boxes", "--policy", policy, "--out", boxed)
    assert answer.status == 0, answer.err
    assert "judged alone and not on record" in answer.err
    suggested = f"aegis release {boxed} --rows-of {data} --policy {policy} --out RELEASE.csv"
    assert suggested in answer.err
    page = boxed.with_name("boxed.csv.certificate.html").read_text(encoding="utf-8")
    assert "it was judged alone" in page
    words = suggested.split()[1:-1]
    done = aegis(*words, tmp_path / "released.csv", "--insensitive", "rest")
    assert done.status == 0, done.err
    assert "finished table" in aegis("ledger", "show", data).out


def _own_clinic(clinic: Path, folder: Path) -> Path:
    """A copy of the example that a test may change."""
    return Path(shutil.copytree(clinic, folder / "clinic"))


def _pasted(aegis: Aegis, err: str, out: Path) -> Any:
    """The command that a `next:` line names, run."""
    words = shlex.split(err.split("next: aegis ")[-1])
    return aegis(*[str(out) if word == "RELEASE.csv" else word for word in words])


def test_the_next_line_of_boxes_works_when_it_is_pasted(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    """The roles lie beside the source; what is released has the same columns, most of them as they are."""
    folder = _own_clinic(clinic, tmp_path)
    boxes, given = tmp_path / "boxes.csv", ("--method", "boxes", "--policy", folder / "policy.yaml")
    made = aegis("anonymize", folder / "clinic.csv", *given, "--out", boxes)
    assert made.status == 0, made.err
    answer = _pasted(aegis, made.err, tmp_path / "out.csv")
    assert answer.status == 0, answer.err
    assert set(_rows(tmp_path / "out.csv")["patient"]) == {"*"}


def test_roles_that_were_typed_stand_in_the_next_line(aegis: Aegis, clinic: Path, tmp_path: Path) -> None:
    folder = _own_clinic(clinic, tmp_path)
    roles = (folder / "clinic.roles.yaml").rename(tmp_path / "mine.yaml")
    boxes, given = tmp_path / "boxes.csv", ("--method", "boxes", "--policy", folder / "policy.yaml")
    made = aegis("anonymize", folder / "clinic.csv", *given, "--roles", roles, "--out", boxes)
    assert made.status == 0, made.err
    answer = _pasted(aegis, made.err, tmp_path / "out.csv")
    assert answer.status == 0, answer.err


def test_the_next_line_holds_no_role_that_a_release_takes_from_the_policy(aegis: Aegis, tmp_path: Path) -> None:
    source, classes, policy = tmp_path / "people.csv", tmp_path / "classes.csv", tmp_path / "policy.yaml"
    rows = [f"{20 + i},{1000 + i % 7},{'abc'[i % 3]},{i % 2}" for i in range(30)]
    source.write_text("\n".join(["age,zip,illness,seen", *rows]) + "\n", encoding="utf-8")
    policy.write_text("k: 3\nquasi_identifying: [age, zip]\nsensitive: [illness]\n", encoding="utf-8")
    roles = ("--quasi", "age,zip", "--sensitive", "illness", "--insensitive", "seen")
    given = ("--method", "mo-obam", "--policy", policy, "--seconds", "1")
    made = aegis("anonymize", source, *given, *roles, "--out", classes)
    assert made.status == 0, made.err
    answer = _pasted(aegis, made.err, tmp_path / "out.csv")
    assert answer.status == 0, answer.err


def test_what_identifies_in_the_source_is_not_proposed_as_insensitive(
    aegis: Aegis, clinic: Path, tmp_path: Path
) -> None:
    """The finished table shows stars, which look like nothing; the source shows a number for every row."""
    folder, boxes = _own_clinic(clinic, tmp_path), tmp_path / "boxes.csv"
    given = ("--method", "boxes", "--policy", folder / "policy.yaml")
    made = aegis("anonymize", folder / "clinic.csv", *given, "--out", boxes)
    assert made.status == 0, made.err
    (folder / "clinic.roles.yaml").unlink()
    answer = _pasted(aegis, made.err, tmp_path / "out.csv")
    assert answer.status == 2
    assert "--insensitive" in answer.err
    assert "patient" not in answer.err
