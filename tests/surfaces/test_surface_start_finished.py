"""Boxes and clusters from ``aegis start`` and ``aegis run``: made in private, judged row by row, released."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import aegis as library
from aegis.commands.start import Start
from aegis.data.schema import Roles
from aegis.errors import PolicyNotSatisfiedError
from aegis.library.guided.candidate_release import Destination, Finishing, release_finished, why_not_finished
from aegis.library.guided.comparison import Comparison
from aegis.library.guided.web_session import Session
from aegis.library.tables.judging import read_policy

Aegis = Callable[..., Any]

BOXES = ("--candidates", "masks,boxes", "--generate", "6", "--purpose", "internal")


def _shop(folder: Path, rows: int = 240, name: str = "mine.csv") -> Path:
    """Customers whose outcome depends on age in the north only: boxes cut there, and masks cannot."""
    lines = ["customer_id;age;region;spent;segment;outcome"]
    for i in range(rows):
        age, region = 20 + (i * 7) % 40, ["north", "south"][i % 2]
        good = (age > 40) != (i * i // 11 % 9 == 0) if region == "north" else i % 7 < 3
        segment = "?" if i % 12 == 0 else "abc"[i % 3]
        lines.append(f"C{i:05d};{age};{region};{(i * 13) % 97};{segment};{'good' if good else 'bad'}")
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _project(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((folder / "aegis.yaml").read_text(encoding="utf-8"))
    return content


@cache
def _raced(data: Path) -> Comparison:
    """Masks, boxes and clusters of the shop, raced once for all tests: the table is the same wherever it stands."""
    table = library.open(data, label="outcome").for_purpose("internal")
    return table.compare(candidates=["masks", "boxes", "clusters"], generate=6)


@pytest.fixture
def raced(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.getbasetemp() / "finished-shop"
    folder.mkdir(exist_ok=True)
    return _raced(_shop(folder))


def test_boxes_leave_and_run_puts_tomorrows_rows_into_the_same_ones(
    aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raced: Comparison
) -> None:
    only = raced.without("mdav", because="not asked for")
    monkeypatch.setattr(import_module("aegis.library.start"), "compare", lambda *_, **__: only)
    data = _shop(tmp_path)
    answer = aegis("start", data, "-y", *BOXES)
    assert answer.status == 0, answer.err
    assert "an interval, as narrow as its group allows" in answer.err
    assert _project(tmp_path)["chosen"] == {"name": "boxes", "kind": "boxes", "method": "boxes"}
    assert "configuration" not in _project(tmp_path)
    released = tmp_path / "mine.released.csv"
    assert aegis("verify", released, tmp_path / "mine.released.csv.certificate.json").status == 0
    text = released.read_text(encoding="utf-8")
    assert "[" in text
    assert "C00017" not in text + answer.err
    assert (tmp_path / ".aegis.boxes.json").stat().st_mode & 0o077 == 0, "only its owner may read it"
    tomorrow = _shop(tmp_path, rows=480, name="tomorrow.csv")
    again = aegis("run", tomorrow, "--project", tmp_path / "aegis.yaml", "--json")
    assert again.status == 0, again.err
    assert again.json["chosen"] == "boxes"
    assert len(again.json["ledger"]["together_with"]) == 1, "judged together with what left before"
    before, after = (library.inspect(tmp_path / f"{name}.released.csv") for name in ("mine", "tomorrow"))
    assert after.rows > before.rows
    assert _published(released) == _published(tmp_path / "tomorrow.released.csv")
    (tmp_path / ".aegis.boxes.json").unlink()
    lost = aegis("run", tomorrow, "--project", tmp_path / "aegis.yaml", "--out", tmp_path / "third.csv")
    assert lost.status == 2
    assert "put it back, or choose anew with aegis run --choose" in " ".join(lost.err.split())
    assert not (tmp_path / "third.csv").exists()


def _published(path: Path) -> set[tuple[str, str]]:
    frame = pd.read_csv(path, dtype=str)
    return set(zip(frame["age"], frame["region"], strict=True))


def _refused(*_: object, **__: object) -> None:
    raise PolicyNotSatisfiedError("a group is too small as written")


def test_what_is_refused_gives_way_to_the_next(
    aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raced: Comparison
) -> None:
    monkeypatch.setattr(import_module("aegis.library.guided.candidate_release"), "release_finished", _refused)
    monkeypatch.setattr(import_module("aegis.library.start"), "compare", lambda *_, **__: raced)
    answer = aegis("start", _shop(tmp_path), "-y", *BOXES)
    assert answer.status == 0, answer.err
    assert "was not released: a group is too small as written" in answer.err
    assert "recommended now: " in answer.err
    assert _project(tmp_path)["chosen"]["kind"] == "masks"
    assert (tmp_path / "mine.released.csv").exists()


def test_the_page_offers_boxes_and_asks_again_where_they_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raced: Comparison
) -> None:
    monkeypatch.setattr(import_module("aegis.library.start"), "compare", lambda *_, **__: raced)
    session = Session(Start(str(_shop(tmp_path)), web=True, candidates=("masks", "boxes"), purpose="internal"))
    for step, fields in (("look", {"missing": ["yes"], "label": ["outcome"]}), ("roles", {}), ("policy", {})):
        session.take(step, fields)
        assert session.problem == ""
    session.take("compare", {})
    session.wait()
    assert session.comparison is not None
    assert "boxes" in session.comparison.able
    with monkeypatch.context() as while_refused:
        while_refused.setattr(import_module("aegis.library.guided.candidate_release"), "release_finished", _refused)
        session.take("choose", {"candidate": ["boxes"]})
        session.wait()
    assert "boxes was not released: a group is too small as written; choose again" in session.problem
    assert session.stage == "choose"
    assert "boxes" not in session.comparison.able
    session.comparison = raced
    session.take("choose", {"candidate": ["boxes"]})
    session.wait()
    assert session.stage == "done", session.problem
    assert session.started is not None
    assert session.started.chosen == "boxes"


def test_clusters_leave_in_python(tmp_path: Path, raced: Comparison) -> None:
    table = library.open(_shop(tmp_path), label="outcome").for_purpose("internal")
    becomes = {each.column: each.becomes for each in table.changes(raced, "mdav")}
    assert (becomes["age"], becomes["region"]) == ("the mean of its group", "the commonest value of its group")
    left = table.release(raced, "mdav")
    assert left.exposing == ()
    frame = left.frame()
    assert frame.groupby(list(table.roles.quasi_identifying), dropna=False).size().min() >= 3
    assert set(frame["customer_id"]) == {"*"}


def test_what_is_kept_between_two_sittings_knows_what_can_leave(raced: Comparison) -> None:
    again = Comparison.from_json(raced.to_json())
    assert again.able == raced.able
    assert {"boxes", "mdav"} <= set(again.able)
    others = again
    for name in again.able[:-1]:
        others = others.without(name, because="refused")
    with pytest.raises(PolicyNotSatisfiedError, match="no other candidate can be released"):
        others.without(again.able[-1], because="refused")


def test_boxes_that_leave_hold_k_people_where_people_are_counted(tmp_path: Path) -> None:
    """Three rows each: a group of five rows may be two people, and must not be."""
    rows = [(f"C{i // 3:05d}", 20 + (i // 3 * 7) % 40, "xy"[i % 2], "uv"[(i * i // 7) % 2]) for i in range(360)]
    table = pd.DataFrame(rows, columns=["customer_id", "age", "tag", "outcome"])
    data = tmp_path / "panel.csv"
    table.to_csv(data, index=False)
    roles = Roles(label="outcome", identifying=("customer_id",), quasi_identifying=("age",), insensitive=("tag",))
    policy = {"quasi_identifying": ["age"], "k": 5, "unit": "customer_id"}
    assert why_not_finished(data, read_policy(policy), reading={}, ledger=None) is None
    out = tmp_path / "panel.released.csv"
    release_finished(
        data,
        Finishing(kind="boxes", method="boxes", seed=0),
        Destination(out=out),
        roles=roles,
        policy=policy,
        attacks=(),
        reading={},
    )
    shown = pd.read_csv(out)
    assert shown["age"].nunique() > 1
    for box in shown["age"].unique():
        low, high = (float(end) for end in str(box)[1:-1].split(","))
        inside = table[(table["age"] >= low) & (table["age"] < high)]
        assert len(inside) == (shown["age"] == box).sum()
        assert inside["customer_id"].nunique() >= 5


@pytest.mark.parametrize(
    ("data", "ledger", "more", "because"),
    [
        ("mine.csv", "none", {}, "there is none"),
        ("postgresql://host/db#mine", None, {}, "this table is none"),
        ("mine.csv", None, {"suppressed": "dropped"}, "leaves rows out"),
    ],
)
def test_why_a_finished_table_cannot_leave(data: str, ledger: str | None, more: dict[str, str], because: str) -> None:
    policy = read_policy({"quasi_identifying": ["age"], "k": 3, **more})
    assert because in str(why_not_finished(data, policy, reading={}, ledger=ledger))
    assert why_not_finished("mine.csv", read_policy({"k": 3}), reading={}, ledger=None) is None
