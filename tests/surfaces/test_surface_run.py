"""``aegis run`` on tomorrow's file: values that were not there, rows that are gone, and what the project file keeps."""

from __future__ import annotations

import stat
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import yaml

Aegis = Callable[..., Any]

SEARCHED = ("--candidates", "search", "--purpose", "internal", "-y")


def _visits(folder: Path, name: str, *, days: int = 120, rows: int = 600, last: date | None = None) -> Path:
    """Visits with a day, an age and an outcome that the day tells half of; ``last`` adds a row of a later day."""
    first = date(2017, 1, 3)
    lines = ["customer_id,visit_date,age,outcome"]
    for i in range(rows):
        day = i * 7 % days
        outcome = "good" if (day > days // 2) != (i % 5 == 0) else "bad"
        lines.append(f"C{i:05d},{first + timedelta(days=day)},{20 + i * 11 % 40},{outcome}")
    if last is not None:
        lines += [f"C{rows + i:05d},{last},{20 + i},good" for i in range(20)]
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_day_that_was_not_there_falls_into_its_range(aegis: Aegis, tmp_path: Path) -> None:
    data = _visits(tmp_path, "visits.csv")
    given = ("--quasi", "visit_date,age", "--identifying", "customer_id", "--label", "outcome")
    assert aegis("start", data, *given, *SEARCHED).status == 0
    project = tmp_path / "aegis.yaml"
    assert stat.S_IMODE(project.stat().st_mode) == 0o600, "masks may list values: for its owner only"
    masks = yaml.safe_load(project.read_text(encoding="utf-8"))["configuration"]["masks"]
    assert "date_ranges" in masks["visit_date"], "kept as edges, not as a list of days"
    assert len(masks["visit_date"]["date_ranges"]["edges"]) < 20
    grown = _visits(tmp_path, "grown.csv", last=date(2031, 1, 1))
    answer = aegis("run", grown, "--project", project, "--out", tmp_path / "grown.released.csv")
    assert answer.status == 0, answer.err
    released = (tmp_path / "grown.released.csv").read_text(encoding="utf-8")
    assert ", inf)" in released
    assert "2031" not in released


def test_a_value_that_a_hierarchy_lacks_says_where_to_add_it(aegis: Aegis, tmp_path: Path) -> None:
    data = tmp_path / "visits.csv"
    rows = [f"C{i:05d},{'ABCD'[i % 4]},{'good' if (i % 4 > 1) != (i % 5 == 0) else 'bad'}" for i in range(200)]
    data.write_text("\n".join(["customer_id,ward,outcome", *rows]) + "\n", encoding="utf-8")
    (tmp_path / "hierarchies").mkdir()
    levels = "A;east;*\nB;east;*\nC;west;*\nD;west;*\n"
    (tmp_path / "hierarchies" / "ward.csv").write_text(levels, encoding="utf-8")
    given = ("--quasi", "ward", "--identifying", "customer_id", "--label", "outcome", "--k", "60")
    assert aegis("start", data, *given, *SEARCHED).status == 0
    grown = tmp_path / "grown.csv"
    grown.write_text(data.read_text(encoding="utf-8") + "C00999,E,good\n", encoding="utf-8")
    answer = aegis("run", grown, "--project", tmp_path / "aegis.yaml")
    assert answer.status == 2
    assert "add a line for each under hierarchies in aegis.yaml, or choose anew with --choose" in answer.err


def test_people_who_left_the_table_say_how_to_go_on(aegis: Aegis, tmp_path: Path) -> None:
    data = tmp_path / "stays.csv"
    header = "patient_id,age,outcome"
    rows = [f"P{i % 80:04d},{20 + i % 80 % 8},{'good' if (i % 8 > 3) != (i % 7 == 0) else 'bad'}" for i in range(240)]
    data.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    given = ("--quasi", "age", "--identifying", "patient_id", "--person", "patient_id", "--label", "outcome")
    started = aegis("start", data, *given, *SEARCHED)
    assert started.status == 0, started.err
    fewer = tmp_path / "fewer.csv"
    fewer.write_text("\n".join([header, *rows[:-7]]) + "\n", encoding="utf-8")
    run = ("run", fewer, "--project", tmp_path / "aegis.yaml", "--out", tmp_path / "fewer.released.csv")
    refused = aegis(*run)
    assert refused.status == 1
    assert "keep these records in the table that you give" in refused.err
    assert "--despite-ledger REASON" in refused.err
    released = aegis(*run, "--despite-ledger", "these patients asked to be taken out")
    assert released.status == 0, released.err
    certificate = (tmp_path / "fewer.released.csv.certificate.json").read_text(encoding="utf-8")
    assert "asked to be taken out" in certificate


def test_a_table_that_the_old_masks_do_not_hide_says_how_to_choose_anew(aegis: Aegis, tmp_path: Path) -> None:
    data = _visits(tmp_path, "visits.csv")
    given = ("--quasi", "visit_date,age", "--identifying", "customer_id", "--label", "outcome")
    assert aegis("start", data, *given, *SEARCHED).status == 0
    small = _visits(tmp_path, "small.csv", rows=40)
    refused = aegis("run", small, "--project", tmp_path / "aegis.yaml", "--ledger", "none")
    assert refused.status == 1, refused.err
    assert "or choose anew on this table with --choose" in refused.err
    assert not (tmp_path / "small.released.csv").exists()
