"""The clinic, written once, and a way to run the command line in process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aegis.cli.main import call
from aegis.workflows.clinic import write_clinic


@dataclass(frozen=True)
class Answer:
    """What a command printed and how it ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(scope="session")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the example, with fewer patients."""
    folder = tmp_path_factory.mktemp("clinic")
    write_clinic(folder, rows=1_500)
    return folder


@pytest.fixture
def aegis(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command line: ``aegis("advise", path, "--json")``."""

    def run(*arguments: object) -> Answer:
        capsys.readouterr()
        status = call([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Answer(status, printed.out, printed.err)

    return run
