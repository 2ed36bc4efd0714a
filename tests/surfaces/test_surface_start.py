"""``aegis start`` and ``aegis run`` as people use them: from their own file to a certified release, and again."""

from __future__ import annotations

import dataclasses
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

import aegis as library
from aegis.candidates.sanitizers import posterior
from aegis.command_line import call
from aegis.commands.start import Start

Aegis = Callable[..., Any]

QUICK = ("--candidates", "masks", "--generate", "6", "--purpose", "internal")


def _shop(folder: Path, rows: int = 240, name: str = "mine.csv") -> Path:
    """Customers with an id, two quasi-identifiers, a mark for missing values, and an outcome that age tells half of."""
    lines = ["customer_id,age,region,spent,segment,outcome"]
    for i in range(rows):
        age = 20 + (i * 7) % 40
        outcome = "good" if (age > 40) != (i * i // 11 % 5 == 0) else "bad"
        segment = "?" if i % 12 == 0 else "abc"[i % 3]
        lines.append(f"C{i:05d},{age},{['north', 'south'][i % 2]},{(i * 13) % 97},{segment},{outcome}")
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where somebody went through the whole path, to be copied."""
    folder = tmp_path_factory.mktemp("walked")
    assert call(["start", str(_shop(folder)), "-y", *QUICK]) == 0
    return folder


@pytest.fixture
def started(walked: Path, tmp_path: Path) -> Path:
    """The table of a path that was gone through: project, release, certificate and ledger lie beside it."""
    return Path(shutil.copytree(walked, tmp_path, dirs_exist_ok=True)) / "mine.csv"


def test_one_command_leads_to_a_certified_release(aegis: Aegis, tmp_path: Path) -> None:
    data = _shop(tmp_path)
    answer = aegis("start", data, "-y", *QUICK)
    assert answer.status == 0, answer.err
    for step in ("1 of 6", "2 of 6", "3 of 6", "4 of 6", "5 of 6", "6 of 6", "Recommended: "):
        assert step in answer.err
    assert "read as missing: ?" in answer.err
    assert "nobody singled out" in answer.err
    assert f"next: aegis run TOMORROW.csv --project {tmp_path / 'aegis.yaml'}" in answer.err
    released, certificate = tmp_path / "mine.released.csv", tmp_path / "mine.released.csv.certificate.json"
    assert aegis("verify", released, certificate).status == 0
    assert (tmp_path / "mine.csv.ledger.jsonl").exists()
    page = (tmp_path / "mine.report.html").read_text(encoding="utf-8")
    assert "Usefulness against risk" in page
    assert '<dt>singled out by attacks</dt><dd class="text">nobody' in page
    assert "k-anonymity: at least 3" in page
    assert "C00017" not in page + answer.out + answer.err, "no value of a record"
    assert "C00017" not in released.read_text(encoding="utf-8")
    assert not list(tmp_path.glob(".aegis*")), "what is kept between two sittings goes with the release"


def test_json_says_what_was_decided_and_released(aegis: Aegis, tmp_path: Path) -> None:
    found = aegis("start", _shop(tmp_path), "-y", *QUICK, "--json").json
    assert found["roles"]["quasi_identifying"] == ["age", "region"]
    assert found["roles"]["identifying"] == ["customer_id"]
    assert found["policy"]["k"] == 3
    assert found["chosen"] == found["recommended"]
    assert found["smallest_class"] >= 3
    assert {each["name"] for each in found["candidates"]} >= {found["chosen"]}
    assert all(each["exposed_share"] == 0 or each["singled_out"] == each["people"] for each in found["attacks"])


def test_later_commands_read_the_project(aegis: Aegis, started: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(started.parent)
    inspected = aegis("inspect", "--json")
    assert inspected.status == 0
    assert "from aegis.yaml: data, missing, roles" in inspected.err
    columns = {column["name"]: column for column in inspected.json["columns"]}
    assert columns["age"]["role"] == "quasi_identifying"
    assert columns["segment"]["missing"] == 20, "read as the project says"
    verified = aegis("verify")
    assert verified.status == 0
    assert "from aegis.yaml: release, certificate" in verified.err
    again = aegis("release", "--out", "again.csv")
    assert again.status == 0, again.err
    assert "from aegis.yaml: data, missing, roles, policy, config" in again.err
    attacked = aegis("attack", "--attacks", "prosecutor", "--json")
    assert attacked.json["attacks"][0]["right"] == 0


def test_what_is_typed_goes_before_the_project(
    aegis: Aegis, started: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = _shop(tmp_path, name="other.csv")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text("quasi_identifying: [region]\nk: 2\n", encoding="utf-8")
    checked = aegis("check", "mine.csv", "--policy", "own.yaml", "--json")
    assert checked.status == 0, checked.err
    assert "policy" not in checked.err.split("\n", 1)[0]
    elsewhere = aegis("inspect", other)
    assert "from aegis.yaml" not in elsewhere.err, "a table that is not the project's takes nothing"


def test_a_project_of_another_table_is_not_replaced(aegis: Aegis, started: Path, tmp_path: Path) -> None:
    other = _shop(tmp_path, name="other.csv")
    answer = aegis("start", other, "-y", *QUICK)
    assert answer.status == 2
    assert "is about another table (mine.csv); name another file with --project" in answer.err
    apart = ("--project", tmp_path / "other.yaml", "--ledger", "none")  # the same rows would be known again
    assert aegis("start", other, "-y", *QUICK, *apart).status == 0
    assert yaml.safe_load((tmp_path / "other.yaml").read_text(encoding="utf-8"))["data"] == "other.csv"


def test_a_path_that_was_left_is_taken_up_again(aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = _shop(tmp_path)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("aegis.library.start"), "compare", interrupted)
    left = aegis("start", data, "-y", *QUICK, "--quasi", "age")
    assert left.status == 130
    assert "what was decided is kept: the same command goes on from here" in left.err
    project = yaml.safe_load((tmp_path / "aegis.yaml").read_text(encoding="utf-8"))
    assert "age" in project["roles"]["quasi_identifying"]
    assert project["policy"]["k"] == 3
    assert "chosen" not in project
    monkeypatch.undo()
    on = aegis("start", data, "-y", *QUICK[:4])
    assert on.status == 0, on.err
    assert on.err.count("as decided in aegis.yaml") == 2
    assert (tmp_path / "mine.released.csv").exists()


def test_candidates_are_not_raced_twice(aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = _shop(tmp_path)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("aegis.library.start"), "release_candidate", interrupted)
    assert aegis("start", data, "-y", *QUICK).status == 130
    assert (tmp_path / ".aegis.comparison.json").stat().st_mode & 0o077 == 0, "only its owner may read it"
    monkeypatch.undo()
    on = aegis("start", data, "-y", *QUICK[:4])
    assert "as raced in the last sitting: nothing changed since" in on.err
    assert on.status == 0, on.err


def test_an_answer_can_be_changed_and_what_hangs_on_it_is_decided_anew(aegis: Aegis, tmp_path: Path) -> None:
    data = _shop(tmp_path)
    assert aegis("start", data, "-y", *QUICK, "--ledger", "none").status == 0
    changed = aegis("start", data, "-y", *QUICK[:4], "--k", "6", "--ledger", "none", "--json").json
    assert changed["policy"]["k"] == 6
    assert changed["smallest_class"] >= 6
    assert changed["out"].endswith("mine.released-2.csv"), "what left before stays"


def test_a_policy_of_ones_own_takes_the_place_of_a_purpose(aegis: Aegis, tmp_path: Path) -> None:
    data, policy = _shop(tmp_path), tmp_path / "own.yaml"
    policy.write_text("quasi_identifying: [age]\nk: 4\n", encoding="utf-8")
    found = aegis("start", data, "-y", *QUICK[:4], "--policy", policy, "--json").json
    assert (found["purpose"], found["policy"]["k"]) == (None, 4)
    refused = aegis("start", data, "-y", "--policy", policy, "--k", "3")
    assert refused.status == 2
    assert "the policy says what must hold; leave out --k" in refused.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--candidates", "nonsense"), "nonsense"),
        (("--label", "nothing"), "there is no column 'nothing'"),
        (("--purpose", "nobody"), "--purpose cannot be 'nobody'"),
        (("--k", "0"), "--k is at least 1"),
        (("--out", "mine.docx"), "end its name in .csv or .parquet"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing(
    aegis: Aegis, tmp_path: Path, given: tuple[str, ...], said: str
) -> None:
    data = _shop(tmp_path)
    answer = aegis("start", data, "-y", *given)
    assert answer.status == 2
    assert said in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
@pytest.mark.parametrize("option", ["--out", "--report", "--project"])
def test_no_output_takes_the_place_of_the_table(
    aegis: Aegis, tmp_path: Path, option: str, overwrite: tuple[str, ...]
) -> None:
    """The report was written over the table, with every row in it, whether --overwrite was given or not."""
    data = _shop(tmp_path)
    before = data.read_bytes()
    answer = aegis("start", data, "-y", *QUICK, option, data, "--restart", *overwrite)
    assert answer.status == 2, answer.err
    assert "mine.csv is an input or another output of this command" in answer.err
    assert "1 of 6" not in answer.err, "said before anything is asked"
    assert data.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


def test_only_a_report_is_replaced_by_a_report(aegis: Aegis, tmp_path: Path) -> None:
    data, notes, report = _shop(tmp_path), tmp_path / "notes.html", tmp_path / "mine.report.html"
    notes.write_text("what took me a week\n", encoding="utf-8")
    answer = aegis("start", data, "-y", *QUICK, "--report", notes)
    assert (answer.status, "exists and is no report" in answer.err) == (2, True), answer.err
    assert notes.read_text(encoding="utf-8") == "what took me a week\n"
    report.write_text('<!DOCTYPE html><meta name="generator" content="Aegis 0.1">', encoding="utf-8")
    assert aegis("start", data, "-y", *QUICK).status == 0
    assert "Usefulness against risk" in report.read_text(encoding="utf-8")


def test_more_that_look_alike_than_there_are_is_said_at_once(aegis: Aegis, tmp_path: Path) -> None:
    answer = aegis("start", _shop(tmp_path, rows=40), "-y", "--k", "41")
    assert (answer.status, "k = 41, and the table has 40 rows" in answer.err) == (2, True), answer.err
    assert "4 of 6" not in answer.err


def test_a_table_with_nothing_to_predict_leaves_nothing(aegis: Aegis, tmp_path: Path) -> None:
    data = tmp_path / "one.csv"
    data.write_text("a,y\n1,p\n", encoding="utf-8")
    assert aegis("start", data, "-y").status == 2
    assert [path.name for path in tmp_path.iterdir()] == ["one.csv"]


def test_too_few_rows_to_learn_from_are_said_before_any_question(aegis: Aegis, tmp_path: Path) -> None:
    answer = aegis("start", _shop(tmp_path, rows=12), "-y")
    assert (answer.status, "mine has 12 rows, and at least 30 are needed" in answer.err) == (2, True), answer.err
    assert "2 of 6" not in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


def test_a_promise_that_nothing_keeps_is_said_and_nothing_is_released(aegis: Aegis, tmp_path: Path) -> None:
    data, policy = _shop(tmp_path, rows=40), tmp_path / "policy.yaml"
    policy.write_text("quasi_identifying: [age, region]\nk: 41\n", encoding="utf-8")
    answer = aegis("start", data, "-y", *QUICK[:4], "--policy", policy)
    assert answer.status == 1
    assert "satisf" in answer.err
    assert not list(tmp_path.glob("*.released*"))


def test_the_terminal_asks_and_listens(tmp_path: Path) -> None:
    data = _shop(tmp_path)
    said = "y\nnonsense\noutcome\ncustomer_id\nage\nnone\npublic\n3\n\nn\n"
    answer = subprocess.run(
        [sys.executable, "-m", "aegis", "start", str(data), *QUICK[:4]],
        input=said,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert "there is no such column" in answer.stderr
    project = yaml.safe_load((tmp_path / "aegis.yaml").read_text(encoding="utf-8"))
    assert (project["purpose"], project["policy"]["k"]) == ("public", 3)
    assert project["roles"]["quasi_identifying"] == ["age"]
    assert "release" not in project
    assert not list(tmp_path.glob("*.released*")), "nothing leaves without a yes"


def test_a_candidate_with_a_command_of_its_own_is_answered_with_it(tmp_path: Path) -> None:
    """The table of candidates shows it, so people ask for it: it was not in the list, and nothing said why."""
    data = _shop(tmp_path)
    answer = subprocess.run(
        [sys.executable, "-m", "aegis", "start", str(data), "--candidates", "masks,synthetic", "--generate", "4"],
        input="y\n\n\n\n\n\n\nsynthetic-1\n\nn\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    said = "synthetic-1 is made by a command of its own: aegis synthesize DATA --epsilon 1 "
    assert said in answer.stderr
    assert said in (tmp_path / "mine.report.html").read_text(encoding="utf-8")


def test_run_does_it_again_on_a_table_that_grew(aegis: Aegis, started: Path, tmp_path: Path) -> None:
    tomorrow = _shop(tmp_path, rows=480, name="tomorrow.csv")
    answer = aegis("run", tomorrow, "--project", tmp_path / "aegis.yaml", "--json")
    assert answer.status == 0, answer.err
    assert answer.json["ledger"]["together_with"] == [2], "judged together with what left before"
    released = library.inspect(tmp_path / "tomorrow.released.csv")
    assert released.rows > 240
    project = yaml.safe_load((tmp_path / "aegis.yaml").read_text(encoding="utf-8"))
    assert project["release"]["out"] == "tomorrow.released.csv"


def test_run_stops_where_a_column_came_or_went(aegis: Aegis, started: Path, tmp_path: Path) -> None:
    text = started.read_text(encoding="utf-8").splitlines()
    changed = tmp_path / "new.csv"
    changed.write_text("\n".join([text[0] + ",extra", *(line + ",1" for line in text[1:])]) + "\n", encoding="utf-8")
    answer = aegis("run", changed, "--project", tmp_path / "aegis.yaml")
    assert answer.status == 2
    assert "nobody decided about extra" in answer.err


def test_run_without_a_project_says_how_to_get_one(
    aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = aegis("run", _shop(tmp_path))
    assert answer.status == 2
    assert "there is no project file aegis.yaml; aegis start makes one" in answer.err


def test_names_with_commas_and_columns_without_values(aegis: Aegis, tmp_path: Path) -> None:
    rows = "".join(f'"P{i}, x",{20 + i % 7},,{"ab"[i % 2]}\n' for i in range(80))
    data = tmp_path / "my own.csv"
    data.write_text('"name, full",age,empty,how well\n' + rows, encoding="utf-8")
    answer = aegis("start", data, "-y", *QUICK, "--label", "how well")
    assert answer.status == 0, answer.err
    roles = yaml.safe_load((tmp_path / "aegis.yaml").read_text(encoding="utf-8"))["roles"]
    assert roles["identifying"] == ["name, full", "empty"]
    assert f"aegis ledger show '{data}'" in answer.err


def test_tomorrows_file_may_be_written_otherwise_and_lost_values_are_said(aegis: Aegis, tmp_path: Path) -> None:
    data = _shop(tmp_path)
    assert aegis("start", data, "-y", *QUICK, "--goal", "auc").status == 0
    assert yaml.safe_load((tmp_path / "aegis.yaml").read_text())["candidates"]["goal"] == "auc"
    tomorrow = tmp_path / "tomorrow.csv"
    tomorrow.write_text(data.read_text().replace(",", ";"), encoding="utf-16")
    given = ("run", tomorrow, "--project", tmp_path / "aegis.yaml", "--out", tmp_path / "next.csv")
    assert aegis(*given).status == 2
    answer = aegis(*given, "--delimiter", ";", "--encoding", "utf-16")
    assert answer.status == 0, answer.err
    assert "encoding" not in yaml.safe_load((tmp_path / "aegis.yaml").read_text()).get("reading", {})


def test_whoever_leaves_in_a_question_is_not_asked_the_earlier_ones_again(tmp_path: Path) -> None:
    data = _shop(tmp_path)
    command = [sys.executable, "-m", "aegis", "start", str(data)]
    left = subprocess.run(command, input="y\nsegment\n", capture_output=True, text=True, check=False)
    assert left.returncode == 130
    assert "is kept in aegis.yaml" in left.stderr
    assert yaml.safe_load((tmp_path / "aegis.yaml").read_text())["roles"]["label"] == "segment"
    again = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert "label: segment" in again.stderr


def test_rows_that_left_under_another_ledger_are_refused_before_any_question(aegis: Aegis, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    data = _shop(first)
    assert aegis("start", data, "-y", *QUICK).status == 0
    copy = second / "copy.csv"
    copy.write_bytes(data.read_bytes())
    answer = aegis("start", copy, "-y", *QUICK)
    assert answer.status == 2
    assert "something was released before" in answer.err
    assert "2 of 6" not in answer.err


def test_a_column_that_was_sanitized_is_hidden_by_an_option_that_start_has(
    aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posterior, "find_spec", lambda _name: None)  # beliefs from lines, which take a moment
    rng = random.Random(1)
    lines = ["name,age,zip,illness,outcome"]
    for i in range(300):
        age, illness = rng.randrange(20, 60), rng.choice(["flu", "gout", "none"])
        outcome = "bad" if (illness == "gout") != (i % 5 == 0) else "good"  # the authorised party's column tells
        lines.append(f"person{i:04d},{age},021{rng.randrange(6)},{illness},{outcome}")
    data = tmp_path / "people.csv"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    what = ("--private", "illness", "--authorized", "outcome", "--adversary", "zip", "--distortion", "0.4")
    sanitized = aegis("sanitize", data, *what, "--attackers", "neighbours", "--out", tmp_path / "sanitized.csv")
    assert sanitized.status == 0, sanitized.err
    given = ("-y", "--candidates", "masks", "--generate", "6", "--purpose", "partner")
    refused = aegis("start", data, *given, "--sensitive", "illness")
    assert refused.status != 0
    advice = refused.err.splitlines()[-1]
    assert "--identifying illness" in advice
    options = {f"--{field.name.replace('_', '-')}" for field in dataclasses.fields(Start)}
    assert set(re.findall(r"--[a-z-]+", advice)) <= options
    answer = aegis("start", data, *given, "--restart", "--identifying", "illness")
    assert answer.status == 0, answer.err
