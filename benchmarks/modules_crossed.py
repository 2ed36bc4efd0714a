"""How many of our modules does a command cross: what somebody would have to read who follows it through.

A module is crossed when one of its functions runs. Each command runs twice in a process and the second run is counted,
so that what happens once while modules are loaded and registries filled is left out, as in the test of a download
(tests/catalog/api/test_api_download_cost.py). Commands are called as they are typed, on the table of ``aegis demo``
with its twelve configurations and its policy; the release has its ledger. Masks, privacy models, learners and measures
are a file each by design, and how many are crossed depends on the configurations and the policy: they are counted, and
counted apart as well.

Run: python benchmarks/modules_crossed.py
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from _result import write
from aegis.command_line import call
from aegis.library.clinic import write_clinic

GOALS = {"advise": 90, "release": 80}
COMMANDS = {
    "advise": ["advise", "clinic.csv", "--label", "health", "--configs", "configurations", "--policy", "policy.yaml"],
    "release": [
        *("release", "clinic.csv", "--config", "configurations/decades.yaml", "--policy", "policy.yaml"),
        *("--out", "released.parquet", "--overwrite"),
    ],
}
REGISTERED = (
    *("aegis.masking.masks.", "aegis.privacy.models."),
    *(f"aegis.learners.{learner}" for learner in ("boosting", "forest", "line")),
    *(f"aegis.measures.{measure}" for measure in ("deviation", "leave_one_out")),
)
"""What is found in a registry, by the beginning of its name."""


def crossed(work: Callable[[], Any]) -> set[str]:
    """The modules of ours in which a function runs while ``work`` does, in threads that it starts too."""
    modules: set[str] = set()

    def called(frame: FrameType, event: str, _argument: Any) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.startswith("aegis."):
            modules.add(name)

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return modules


def typed(arguments: list[str]) -> None:
    """A command as it is typed, without what it prints."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status = call(arguments)
    assert status == 0, f"aegis {arguments[0]} ended with {status}"


def main() -> None:
    """Count each command and write the result."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AEGIS_STATE"] = folder  # the register of tables is not that of whoever measures
        write_clinic(Path(folder))
        os.chdir(folder)
        for name, arguments in COMMANDS.items():
            typed(arguments)
            modules = crossed(partial(typed, arguments))
            registered = sorted(module for module in modules if module.startswith(REGISTERED))
            rooms = Counter(module.split(".")[1] for module in modules)
            results[name] = {
                "modules": len(modules),
                "goal": GOALS[name],
                "met": len(modules) <= GOALS[name],
                "registered": len(registered),
                "by_room": dict(sorted(rooms.items())),
                "crossed": sorted(modules),
            }
            print(f"{name:8} {len(modules)} modules, {len(registered)} of them registered; aim {GOALS[name]}")
        os.chdir("/")
    write("modules_crossed", {"commands": results})


if __name__ == "__main__":
    main()
