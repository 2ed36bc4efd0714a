from __future__ import annotations

import gc
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from aegis.loading import loaded, undisturbed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_nothing_is_collected_while_a_module_is_loaded(folder: Path) -> None:
    (folder / "aegis_loaded_once.py").write_text("import gc\ncollecting = gc.isenabled()\n")
    assert loaded("aegis_loaded_once").collecting is False
    assert gc.isenabled()


def test_collecting_goes_on_after_a_module_that_fails(folder: Path) -> None:
    (folder / "aegis_loaded_never.py").write_text("raise ValueError\n")
    with pytest.raises(ValueError):  # noqa: PT011  the module raises it
        loaded("aegis_loaded_never")
    assert gc.isenabled()


def test_a_process_that_does_not_collect_stays_so() -> None:
    gc.disable()
    try:
        loaded("aegis.plural")
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_only_in_a_process_of_our_own_is_what_was_loaded_spared_later_looks() -> None:
    code = "import gc; from aegis.loading import *; {}loaded('aegis.plural'); print(gc.get_freeze_count())"
    frozen = [
        int(subprocess.run([sys.executable, "-c", code.format(first)], check=True, capture_output=True).stdout)
        for first in ("", "own_process(); ")
    ]
    assert frozen[0] == 0 < frozen[1]


@pytest.mark.parametrize("part", ["aegis.catalog.server.process", "aegis.catalog.worker.job_process"])
def test_a_process_of_the_catalog_starts_without_compiler_and_solvers(part: str) -> None:
    """They take as long as the rest, in each of its processes, and few jobs need them."""
    code = f"import sys, {part}; print(*sorted({{'numba', 'scipy', 'sklearn', 'jax', 'pandas'}} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_nothing_is_collected_while_something_is_imported_late() -> None:
    with undisturbed():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ModuleNotFoundError), undisturbed():
        import_module("aegis.there_is_none")
    assert gc.isenabled()
