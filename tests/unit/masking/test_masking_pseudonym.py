"""Keys: where they come from, and that they stay there."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import numpy as np
import pytest

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MaskError
from aegis.masking.mask import as_objects
from aegis.masking.masks.tokens import Pseudonym
from aegis.masking.transition import transition

KEY = "0123456789abcdef-canary"


def test_it_is_hmac_sha256(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEGIS_PSEUDONYM_KEY", KEY)
    expected = hmac.new(KEY.encode(), b"Ana", hashlib.sha256).hexdigest()
    assert Pseudonym(length=64).on_values(as_objects(["Ana"])).tolist() == [expected]
    assert Pseudonym().on_values(as_objects(["Ana"])).tolist() == [expected[:16]]


def test_the_key_comes_from_a_file_or_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text(KEY + "\n")
    monkeypatch.setenv("OUR_KEY", KEY)
    values = as_objects(["Ana", "Bo"])
    by_file = Pseudonym(key_file=str(tmp_path / "key"))
    by_variable = Pseudonym(key_variable="OUR_KEY")
    assert by_file.on_values(values).tolist() == by_variable.on_values(values).tolist()
    for mask in (by_file, by_variable):
        assert "canary" not in repr(mask) + str(mask.spec()) + mask.describe()


def test_without_a_key_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AEGIS_PSEUDONYM_KEY", raising=False)
    with pytest.raises(MaskError, match=r"set the environment variable AEGIS_PSEUDONYM_KEY.*token_hex"):
        Pseudonym().on_values(as_objects(["Ana"]))
    with pytest.raises(MaskError, match="cannot be read"):
        Pseudonym(key_file=str(tmp_path / "absent")).on_values(as_objects(["Ana"]))
    monkeypatch.setenv("AEGIS_PSEUDONYM_KEY", "canary")
    with pytest.raises(MaskError, match="shorter than 16") as caught:
        Pseudonym().on_values(as_objects(["Ana"]))
    assert "canary" not in str(caught.value)


def test_advising_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AEGIS_PSEUDONYM_KEY", raising=False)
    step = transition(Pseudonym(), Domain.of(Kind.TEXT, ["Ana", "Bo"], missing=True), np.ones(3))
    assert step.target.labels() == ["#1", "#2", "missing"]
