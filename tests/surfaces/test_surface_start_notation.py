"""Decimal commas and dates on the path: asked, read, kept in the project, and read so again tomorrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import aegis as library
from aegis.data.kind import Kind

Aegis = Callable[..., Any]

QUICK = ("--candidates", "masks", "--generate", "4", "--purpose", "internal")


def _shop(folder: Path, name: str = "shop.csv", rows: int = 200) -> Path:
    lines = ["customer_id;age;spent;first_seen;last_seen;outcome"]
    for i in range(rows):
        age = 20 + (i * 7) % 40
        outcome = "good" if (age > 40) != (i * i // 11 % 5 == 0) else "bad"
        spent = "?" if i % 25 == 0 else f"{i % 90},{i % 10}"
        dates = f"{1 + i % 28:02d}.{1 + i % 3:02d}.2024;{1 + i % 9}/{1 + i % 12}/2024"
        lines.append(f"C{i:05d};{age};{spent};{dates};{outcome}")
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_what_is_suggested_is_read_kept_and_read_again(
    aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _shop(tmp_path)
    answer = aegis("start", "shop.csv", "-y", *QUICK)
    assert answer.status == 0, answer.err
    assert "spent is read as numbers with a decimal comma" in answer.err
    assert "Read first_seen as dates with the day first? [yes]" in answer.err
    assert "last_seen holds dates. Which comes first? (day, month, text) [day]" in answer.err
    project = yaml.safe_load((tmp_path / "aegis.yaml").read_text(encoding="utf-8"))
    assert project["reading"] == {
        "missing": ["?"],
        "decimal_comma": ["spent"],
        "day_first": ["first_seen", "last_seen"],
    }
    inspected = aegis("inspect", "--json")
    assert "from aegis.yaml: data, missing, decimal comma, day first, roles" in inspected.err
    kinds = {column["name"]: column["kind"] for column in inspected.json["columns"]}
    assert (kinds["spent"], kinds["first_seen"], kinds["last_seen"]) == ("real", "date", "date")
    again = aegis("run", _shop(tmp_path, "tomorrow.csv", rows=230), "--overwrite")
    assert again.status in (0, 1), again.err
    assert "none of" not in again.err


def test_somebody_may_leave_them_as_text(aegis: Aegis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def prompt(question: str, *, default: str, **_: object) -> str:
        return "month" if "Which comes first?" in question else default

    monkeypatch.setattr("typer.prompt", prompt)
    monkeypatch.setattr("typer.confirm", lambda question, **_: "Read " not in question)
    answer = aegis("start", _shop(tmp_path), *QUICK, "--missing", "?")
    assert answer.status == 0, answer.err
    project = yaml.safe_load((tmp_path / "aegis.yaml").read_text(encoding="utf-8"))
    assert project["reading"] == {"missing": ["?"], "month_first": ["last_seen"]}


def test_the_next_line_keeps_how_the_table_is_read(aegis: Aegis, tmp_path: Path) -> None:
    data = _shop(tmp_path)
    given = ("--missing", "?", "--decimal-comma", "spent", "--day-first", "first_seen,last_seen", "--delimiter", ";")
    answer = aegis("inspect", data, *given)
    assert answer.status == 0, answer.err
    kept = "--delimiter ';' --missing '?' --decimal-comma spent --day-first 'first_seen, last_seen'"
    assert f"next: aegis advise {data} {kept} --label outcome" in answer.err


def test_an_open_table_reads_what_is_certain(tmp_path: Path) -> None:
    table = library.open(_shop(tmp_path))
    kinds = {column.name: column.kind for column in table.seen.profile.columns}
    assert kinds["spent"] is Kind.REAL
    assert kinds["first_seen"] is Kind.DATE
    assert kinds["last_seen"] is Kind.TEXT, "day or month first: nobody said which"
