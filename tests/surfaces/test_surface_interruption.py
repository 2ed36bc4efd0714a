"""Ctrl-C ends every command with 130, keeps what an anytime search found, and leaves nothing half-written."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aegis.candidates.search.board import Board
from aegis.commands import interruption
from aegis.library.clinic import write_clinic

PRESSED = """
import os, signal, sys, threading
from ibis.backends.duckdb import Backend
from aegis.data.embedded import Embedded
asked, when = {Backend: Backend.raw_sql, Embedded: Embedded.raw_sql}, int(sys.argv.pop(1))
def pressed(self, *query, **options):
    global when
    when -= 1
    if when == 0:
        threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()
    return asked[type(self)](self, *query, **options)
Backend.raw_sql = Embedded.raw_sql = pressed
from aegis.main import run
run()
"""


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clinic(tmp_path_factory.mktemp("clinic"), rows=20_000)


@pytest.mark.parametrize("question", [1, 3, 6])
def test_counting_can_be_interrupted(patients: Path, tmp_path: Path, question: int) -> None:
    """Pressed while the engine answers one of the questions that are put to it."""
    arguments = ["summarize", str(patients), "--generate", "3", "--no-race", "--out", str(tmp_path / "s")]
    done = subprocess.run(
        [sys.executable, "-c", PRESSED, str(question), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, ""), done.stderr
    assert done.stderr.strip().splitlines()[-1] == "interrupted; nothing was left half-written"
    assert "error" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_search_keeps_the_best_so_far(
    aegis: Callable[..., Any], patients: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pressed once, as soon as something was found."""
    weigh, left = Board.count, ["one"]

    def pressed(self: Board[Any], nodes: int = 1) -> None:
        weigh(self, nodes)
        if left and self.best > -math.inf:
            left.clear()
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Board, "count", pressed)
    policy, best = patients.with_name("policy.yaml"), tmp_path / "best.yaml"
    answer = aegis("search", patients, "--policy", policy, "--seconds", "60", "--out", best)
    assert answer.status == 130, answer.err
    assert "best so far" in answer.err
    assert "internal error" not in answer.err
    assert aegis("check", patients, "--policy", policy, "--config", best).status == 0


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


def test_what_an_anytime_search_answered_is_no_reason_for_what_follows() -> None:
    """The best so far was kept; an error of a later step is that error and no interruption."""
    with interruption.waiting():
        signal.raise_signal(signal.SIGINT)
        assert interruption.heard()
    assert not interruption.heard()
