"""Worker processes: every answer once, and a real Ctrl-C that ends them and keeps what was done."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aegis.evaluation.long_work import available_cores, in_parallel

SCRIPT = """
import sys, time
from aegis.evaluation.long_work import in_parallel

def nap(began, seconds):
    try:
        if seconds:
            with open(began, "a") as file:
                file.write(".")
        time.sleep(seconds)
    except KeyboardInterrupt:
        return "cut short"
    return "done"

if __name__ == "__main__":
    try:
        for task, answer in in_parallel(nap, sys.argv[1], [0.0, 60.0, 61.0, 62.0], jobs=2):
            print(task, answer, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_is_answered_once(jobs: int) -> None:
    tasks = list(range(5))
    assert dict(in_parallel(pow, 2, tasks, jobs=jobs)) == {task: 2**task for task in tasks}
    assert available_cores() >= 1


def test_ctrl_c_ends_the_workers_and_gives_what_they_still_say(tmp_path: Path) -> None:
    script, began = tmp_path / "naps.py", tmp_path / "began"
    script.write_text(SCRIPT, encoding="utf-8")
    # a job in the background ignores Ctrl-C, and so would everything it starts
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            [sys.executable, str(script), str(began)], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
    finally:
        signal.signal(signal.SIGINT, ignored)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "0.0 done\n"
        deadline = time.monotonic() + 60
        # the second one began after the loop came back for more, and did not still print
        while not began.exists() or began.stat().st_size < 2:
            assert time.monotonic() < deadline, "no two naps began within a minute"
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=40)
    finally:
        process.kill()
    assert process.returncode == 0
    assert said.splitlines()[-1] == "interrupted"
    assert "cut short" in said
    assert "done" not in said
