"""What people do in their first hour and what they are told: two roles for a column, a new folder, a false ending."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Aegis = Callable[..., Any]


@pytest.mark.parametrize("role", ["identifying", "quasi", "insensitive"])
def test_a_label_under_another_role_is_refused(aegis: Aegis, tmp_path: Path, role: str) -> None:
    data = tmp_path / "d.csv"
    data.write_text("a,y\n1,0\n2,1\n", encoding="utf-8")
    answer = aegis("advise", data, "--label", "y", f"--{role}", "y", "--generate", "2")
    assert answer.status == 2
    assert f"'y' is named the label and under --{role}; give it one role" in answer.err


def test_a_folder_that_an_output_makes_is_named(aegis: Aegis, tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("a,y\n1,0\n2,1\n", encoding="utf-8")
    config = tmp_path / "c.yaml"
    config.write_text("a: suppress\n", encoding="utf-8")
    place = tmp_path / "new" / "deep"
    answer = aegis("apply", data, "--config", config, "--out", place / "r.csv")
    assert answer.status == 0, answer.err
    assert f"new folder: {place}" in answer.err.replace("\n", "")
    again = aegis("apply", data, "--config", config, "--out", place / "s.csv")
    assert "new folder" not in again.err


def test_a_text_file_that_calls_itself_compressed_is_told_so(aegis: Aegis, tmp_path: Path) -> None:
    data = tmp_path / "d.csv.gz"
    data.write_text("a,y\n1,0\n2,1\n", encoding="utf-8")
    answer = aegis("inspect", data)
    assert answer.status == 2
    assert "d.csv.gz is no gzip file" in answer.err
