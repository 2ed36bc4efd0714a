"""Ctrl-C ends every command with 130, keeps what an anytime search found, and leaves nothing half-written."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aegis.library.clinic import write_clinic


def _interrupted(arguments: list[str], after_seconds: float) -> tuple[int, str]:
    child = subprocess.Popen(
        [sys.executable, "-m", "aegis", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(after_seconds)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=120)
    return child.returncode, err


@pytest.mark.parametrize("after_seconds", [0.8, 1.6, 2.4])
def test_counting_can_be_interrupted(tmp_path: Path, after_seconds: float) -> None:
    table = write_clinic(tmp_path / "clinic", rows=60_000)
    status, err = _interrupted(
        ["summarize", str(table), "--generate", "3000", "--out", str(tmp_path / "s")], after_seconds
    )
    if status == 0:
        pytest.skip("the machine was faster than the interruption")
    # Before the command line is loaded nothing can be said but nothing is lost either.
    assert status in (130, -signal.SIGINT), err
    assert "cannot be read" not in err
    assert "internal error" not in err
    assert not (tmp_path / "s").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["clinic"]


def test_an_interrupted_search_keeps_the_best_so_far(tmp_path: Path) -> None:
    table = write_clinic(tmp_path / "clinic", rows=12_000)
    best = tmp_path / "best.yaml"
    status, err = _interrupted(
        ["search", str(table), "--policy", str(tmp_path / "clinic/policy.yaml"), "--seconds", "60", "--out", str(best)],
        8.0,
    )
    if status == 0:
        pytest.skip("the machine was faster than the interruption")
    assert status == 130, err
    assert "internal error" not in err
    # Interrupted while the code is still being compiled there is no best yet.
    assert best.exists() == ("best so far" in err)


def test_ctrl_c_is_answered_in_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from aegis import main

    def pressed(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("aegis.library.inspect.inspect", pressed)
    assert main.call(["inspect", "table.csv"]) == 130
    assert capsys.readouterr().err.strip() == "interrupted; nothing was left half-written"
