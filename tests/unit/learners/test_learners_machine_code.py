"""Machine code of the loops: kept for the next process, and never taken from a file that others could write."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aegis.learners.features import CodedColumn, Split, SplitColumn
from aegis.learners.line import FIT, Line
from aegis.learners.machine_code import Loop, cache_folder
from aegis.learners.target import Target


def split() -> Split:
    codes = np.tile(np.arange(4, dtype=np.int32), 30)
    column = SplitColumn(CodedColumn(size=4), training=codes, testing=codes[:4])
    return Split(columns=(column,), target=Target.of_classes(codes % 2, 2), test_rows=4)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of one's own that holds the loop of the line, where compiling anew would fail."""
    Line().predict(split(), seed=0)  # compiled at most once on a machine
    known = FIT.file
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    shutil.copy(known, folder)
    monkeypatch.setenv("AEGIS_CACHE", str(folder))

    def refused(loop: Loop) -> bytes:
        raise AssertionError("compiled once more")

    monkeypatch.setattr(Loop, "_compiled", refused)
    assert cache_folder() == folder
    return folder / known.name


def fresh() -> Loop:
    return Loop(name=FIT.name, module=FIT.module, sources=FIT.sources, takes=FIT.takes)


def test_a_kept_loop_is_loaded_without_the_compiler(kept: Path) -> None:
    assert fresh().is_kept
    assert fresh()._loaded() is not None


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of POSIX")
def test_a_file_or_folder_that_others_can_write_is_not_taken(kept: Path) -> None:
    kept.chmod(0o666)
    with pytest.raises(AssertionError, match="compiled once more"):
        fresh()._loaded()
    kept.chmod(0o600)
    kept.parent.chmod(0o777)
    with pytest.raises(AssertionError, match="compiled once more"):
        fresh()._loaded()


def test_other_arguments_make_other_machine_code(kept: Path) -> None:
    other = Loop(name=FIT.name, module=FIT.module, sources=FIT.sources, takes=(*FIT.takes, "i8"))
    assert other.file != FIT.file
    assert not other.is_kept


def test_arrays_of_another_type_or_in_pieces_are_refused() -> None:
    numbers = np.zeros((4, 4))
    rest = [*FIT.takes][1:]
    with pytest.raises(TypeError, match="in one piece"):
        FIT(numbers[:, :2], *rest)
    with pytest.raises(TypeError, match="arrays of f8"):
        FIT(numbers.astype(np.float32), *rest)
    with pytest.raises(TypeError, match="arguments"):
        FIT(numbers)


def test_the_learners_are_loaded_without_the_compiler() -> None:
    code = "import sys, aegis.learners.race as race; list(race.LEARNERS); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
