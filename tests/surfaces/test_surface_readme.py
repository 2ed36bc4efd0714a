"""The README's commands and its Python run as printed, with less time to search and less to train on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_commands_of_the_readme_run(
    aegis: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    listed = README.split("readme-commands")[1].split("```console\n")[1].split("```")[0]
    commands = [line.removeprefix("$ aegis ") for line in listed.splitlines() if line.startswith("$ aegis ")]
    assert len(commands) >= 9
    for command in commands:
        trains = command.startswith("advise demo/clinic.csv") and "--measure" not in command
        shorter = re.sub(r"--seconds \d+", "--seconds 1", command) + trains * " --rows 300"
        answer = aegis(*shlex.split(shorter))
        assert answer.status == 0, f"{command}: {answer.err}"
    for example in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(compile(example, "README", "exec"), {})


def test_pasted_in_order_the_command_is_on_the_path_before_it_is_used() -> None:
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    first = next(number for number, line in enumerate(lines) if line.startswith("aegis "))
    assert 'export PATH="$PWD/.venv/bin:$PATH"' in lines[:first]
    assert any(line.startswith("make demo") for line in lines[:first]), "which makes .venv"
