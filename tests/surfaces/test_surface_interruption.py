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


@pytest.mark.parametrize("module", ["typer", "aegis.commands.command", "aegis.library.inspect", "duckdb"])
def test_ctrl_c_while_modules_are_loaded_is_one_line(module: str) -> None:
    """Pressed at the very moment in which a module is looked for: of the command line first, then of the command."""
    code = (
        "import os, signal, sys\n"
        "class Pressed:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Pressed())\n"
        "from aegis.main import run\n"
        "sys.argv = ['aegis', 'inspect', 'table.csv']\n"
        "run()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    assert done.stderr.strip() == "interrupted; nothing was left half-written"


def test_ctrl_c_is_answered_in_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from aegis import command_line

    def pressed(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("aegis.library.inspect.inspect", pressed)
    assert command_line.call(["inspect", "table.csv"]) == 130
    assert capsys.readouterr().err.strip() == "interrupted; nothing was left half-written"
