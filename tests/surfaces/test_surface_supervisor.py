"""Processes of a catalog live and end together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

_CHILD = """
import pathlib, sys, time
from aegis.catalog.server.supervisor import hold_lifeline
hold_lifeline()
pathlib.Path(sys.argv[1], f"{sys.argv[2]}-{__import__('os').getpid()}").touch()
time.sleep(60)
"""
_COMPLAINS_ONCE = """
import pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
(folder / f"{sys.argv[2]}-{__import__('os').getpid()}").touch()
if len(list(folder.iterdir())) == 2:
    sys.exit(2)  # as if the database were away for a moment
time.sleep(60)
"""
_PARENT = """
import sys
from aegis.catalog.server.supervisor import Part, Supervisor
child, folder = sys.argv[1:3]
parts = [Part(name=name, arguments=("-c", child, folder, name)) for name in sys.argv[3:]]
sys.exit(Supervisor(parts, environment={}, say=lambda text: print(text, flush=True), most_deaths=3).run())
"""


def _supervised(folder: Path, *names: str, child: str = _CHILD) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _PARENT, child, str(folder), *names], stdout=subprocess.PIPE, text=True
    )


def _until(found: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def _pids(folder: Path, name: str) -> list[int]:
    return [int(path.name.split("-")[1]) for path in folder.glob(f"{name}-*")]


def test_a_killed_process_comes_back_and_all_end_together(tmp_path: Path) -> None:
    with _supervised(tmp_path, "server", "worker") as parent:
        _until(lambda: len(list(tmp_path.iterdir())) == 2)
        os.kill(_pids(tmp_path, "worker")[0], signal.SIGKILL)
        _until(lambda: len(_pids(tmp_path, "worker")) == 2)
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(20) == 0
        assert parent.stdout is not None
        assert "the worker ended with status -9; starting it again" in parent.stdout.read()
    assert not any(psutil.pid_exists(pid) for name in ("server", "worker") for pid in _pids(tmp_path, name))


def test_a_complaint_after_the_first_start_ends_nothing(tmp_path: Path) -> None:
    with _supervised(tmp_path, "worker", child=_COMPLAINS_ONCE) as parent:
        _until(lambda: len(_pids(tmp_path, "worker")) == 1)
        os.kill(_pids(tmp_path, "worker")[0], signal.SIGKILL)
        _until(lambda: len(_pids(tmp_path, "worker")) == 3)
        assert parent.poll() is None
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(20) == 0


def test_a_process_that_is_killed_again_and_again_ends_everything(tmp_path: Path) -> None:
    crashes = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with _supervised(tmp_path, "server", child=crashes) as parent:
        assert parent.wait(30) == 2


def test_a_process_that_does_not_stay_ends_everything(tmp_path: Path) -> None:
    with _supervised(tmp_path, "server", child="import sys; sys.exit(2)") as parent:
        assert parent.wait(20) == 2


def test_children_end_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    with _supervised(tmp_path, "server") as parent:
        _until(lambda: bool(_pids(tmp_path, "server")))
        parent.kill()
        pid = _pids(tmp_path, "server")[0]
        _until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
