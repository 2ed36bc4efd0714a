"""Outputs: free before any work is done, files of their own, and whole or not there at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from aegis.data.output import check_free, drafts_of
from aegis.errors import OutputError


def test_what_is_not_named_is_free(tmp_path: Path) -> None:
    check_free(None, tmp_path / "new.csv", str(tmp_path / "other.csv"), overwrite=False)


@pytest.mark.parametrize("overwrite", [False, True])
def test_two_outputs_are_two_files(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    paths = [tmp_path / "new.csv", tmp_path / "link" / "new.csv"]
    with pytest.raises(OutputError, match="a name of its own"):
        check_free(*paths, overwrite=overwrite)
    with pytest.raises(OutputError, match="a name of its own"), drafts_of(paths, overwrite=overwrite):
        raise AssertionError("nothing is drafted")
    assert [path.name for path in tmp_path.iterdir()] == ["link"]


def test_what_stands_there_is_replaced_only_if_asked_and_a_folder_never(tmp_path: Path) -> None:
    (tmp_path / "old.csv").touch()
    with pytest.raises(OutputError, match=r"old\.csv exists already"):
        check_free(tmp_path / "new.csv", tmp_path / "old.csv", overwrite=False)
    check_free(tmp_path / "new.csv", tmp_path / "old.csv", overwrite=True)
    with pytest.raises(OutputError, match="is a folder"):
        check_free(tmp_path, overwrite=True)
