"""Tab completes commands and options, and a completion reads no project and prints nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from aegis.commands.command import COMMANDS
from aegis.operation import fields_of

WHICH = Path(__file__).parents[2] / "docs" / "how-to" / "which-command.md"


def _completed(words: str, folder: Path) -> list[str]:
    setting = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1), "_AEGIS_COMPLETE": "complete_bash"}
    answer = subprocess.run(
        [sys.executable, "-m", "aegis"],
        env={**os.environ, **setting},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stderr == ""
    return answer.stdout.split()


def test_commands_and_options_are_completed(tmp_path: Path) -> None:
    (tmp_path / "aegis.yaml").write_text("nonsense", encoding="utf-8")
    assert {"search", "serve"} <= set(_completed("aegis se", tmp_path))
    assert _completed("aegis release --pol", tmp_path) == ["--policy"]


def test_the_page_of_commands_names_commands_that_exist() -> None:
    text = WHICH.read_text(encoding="utf-8")
    named = {name for name in COMMANDS if f"`aegis {name}" in text or f"`aegis {name.split()[0]} " in text}
    assert {"start", "run", "advise", "search", "check", "release", "verify", "attack"} <= named
    for line in text.splitlines():
        for part in line.split("`aegis ")[1:]:
            words = part.split("`")[0].split()
            made = next((COMMANDS[name] for name in (" ".join(words[:2]), words[0]) if name in COMMANDS), None)
            if made is None:
                continue  # the catalog's, and options of aegis itself
            flags = {field.flag for field in fields_of(made.options)}
            assert {word for word in words if word.startswith("--")} <= flags, line
