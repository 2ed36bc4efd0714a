"""Every example runs as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    answer = subprocess.run([sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip()
