"""The public names are those of the reference, and importing the package costs next to nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import aegis

ROOT = Path(__file__).resolve().parents[2]


def test_the_public_names_are_those_of_the_reference() -> None:
    """The page is generated and committed: a name that comes or goes shows in it."""
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert sorted(aegis.__all__) == sorted(["__version__", *re.findall(r"^### (\w+)$", page, flags=re.MULTILINE)])
    for name in aegis.__all__:
        assert getattr(aegis, name) is not None
    with pytest.raises(AttributeError):
        getattr(aegis, "nothing_of_this_name")  # noqa: B009  a type checker knows better


def test_type_checkers_see_what_is_loaded() -> None:
    tree = ast.parse((ROOT / "src" / "aegis" / "__init__.py").read_text(encoding="utf-8"))
    seen = {
        alias.asname: f"{statement.module}.{alias.name}"
        for block in tree.body
        if isinstance(block, ast.If)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert seen == {name: f"{home}.{name}" for name, home in aegis._HOMES.items()}


def _loaded_by(code: str) -> set[str]:
    return {name.split(".")[0] for name in _modules_loaded_by(code)}


def _modules_loaded_by(code: str) -> set[str]:
    answer = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(answer.stdout.splitlines()[-1].split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = {"numpy", "ibis", "duckdb", "jax", "sklearn", "fastapi", "sqlalchemy", "altair", "scipy", "jinja2"}
    assert not _loaded_by("import aegis") & heavy


def test_help_loads_nothing_heavy_and_little_else() -> None:
    """Modules are counted, not seconds: a busy machine is no defect. benchmarks/start_up.py measures the CPU time."""
    heavy = {"numpy", "ibis", "duckdb", "jax", "sklearn", "scipy", "jinja2", "pyarrow", "pydantic", "sqlalchemy"}
    loaded = _loaded_by("from aegis.command_line import call; assert call(['--help']) == 0")
    assert "rich" in loaded, "help was not drawn: the test proves nothing"
    assert not loaded & heavy
    assert len(loaded) < 200


def test_ranking_a_file_loads_neither_ibis_nor_what_knows_policies(tmp_path: Path) -> None:
    """Ibis takes longer to load than most files take to count, and most files need nothing that it says."""
    file = tmp_path / "people.csv"
    rows = [f"{20 + i % 7},{i / 7},{'xyz'[i % 3]},{'no' if i % 2 else 'yes'},2024-01-0{1 + i % 4}" for i in range(200)]
    file.write_text("\n".join(["age,weight,town,sick,seen", *rows]) + "\n", encoding="utf-8")
    parquet = tmp_path / "people.parquet"
    duckdb.execute(f"COPY (FROM read_csv('{file}')) TO '{parquet}'")
    for source in (file, parquet):
        code = f"import aegis; assert len(aegis.advise({str(source)!r}, label='sick', generate=5).ranking) == 5"
        loaded = _modules_loaded_by(code)
        assert "duckdb" in loaded
        assert not {name for name in loaded if name.startswith(("ibis", "sqlglot", "aegis.releases", "aegis.attacks"))}


def test_ranking_a_file_loads_no_pandas_and_no_scipy(tmp_path: Path) -> None:
    """Both take longer to import than most files take to rank."""
    file = tmp_path / "people.csv"
    rows = [f"{20 + i % 7 if i % 5 else ''},{'xyz'[i % 3] if i % 4 else ''},{i % 2}" for i in range(200)]
    file.write_text("\n".join(["age,town,sick", *rows]) + "\n", encoding="utf-8")
    code = f"import aegis; assert len(aegis.advise({str(file)!r}, label='sick', generate=5{{}}).ranking) == 5"
    loaded = _loaded_by(code.format(", fast=True"))
    assert "duckdb" in loaded
    assert not loaded & {"pandas", "scipy", "sklearn", "jinja2", "numba"}
    assert not _loaded_by(code.format("")) & {
        "pandas",
        "sklearn",
        "jinja2",
    }  # numba looks for scipy


PURE_ROOMS = ("reconstruction", "measures", "privacy", "ranking", "candidates.search")


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_rooms_past_the_counts_cannot_reach_what_reads_rows(room: str) -> None:
    code = (
        "import importlib, pkgutil\n"
        f"import aegis.{room} as room\n"
        "for module in pkgutil.walk_packages(room.__path__, room.__name__ + '.'):\n"
        "    importlib.import_module(module.name)"
    )
    assert not _loaded_by(code) & {"ibis", "pandas", "pyarrow", "duckdb", "polars"}
