"""Every example runs as it stands."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    answer = subprocess.run([sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip()


NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_results(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cell by cell, as a kernel would: what the last line of a cell gives must be able to show itself."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs"), "a notebook is kept without what it printed"
        if cell["cell_type"] != "code":
            continue
        parsed = ast.parse("".join(cell["source"]))
        last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
        exec(compile(parsed, notebook.name, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value))
    assert len(shown) >= 5
    assert all(shown)
    assert any("<svg" in text for text in shown), "a picture"
