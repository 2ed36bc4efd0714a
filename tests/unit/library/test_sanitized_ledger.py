"""Sanitized tables are on record in the ledger of their source, and are judged together with the earlier releases of
it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.candidates.sanitizers import posterior
from aegis.errors import OptionError, PolicyNotSatisfiedError
from aegis.releases.ledger import ledger_path, read_ledger

ROWS = 1200
POLICY = {"quasi_identifying": ["age", "zip"], "insensitive": ["hours", "ward"], "k": 5, "l": {"ill": 2}}


@pytest.fixture(autouse=True)
def lines_for_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posterior, "find_spec", lambda name: None)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    hours = rng.standard_normal(ROWS)
    table = pd.DataFrame(
        {
            "age": 30 + 10 * rng.integers(0, 4, ROWS),
            "zip": [f"z{code}" for code in rng.integers(0, 3, ROWS)],
            "hours": hours.round(3),
            "ward": [f"w{code}" for code in rng.integers(0, 30, ROWS)],
            "ill": np.where(hours + rng.standard_normal(ROWS) > 0, "yes", "no"),
        }
    )
    path = tmp_path / "people.csv"
    table.to_csv(path, index=False)
    return path


def sanitized(source: Path, **more: Any) -> Any:
    asked = {
        "private": ["ill"],
        "authorized": ["hours"],
        "adversary": [["zip"]],
        "distortion": 0.2,
        "attackers": ["neighbours"],
        "seed": 1,
        "out": source.with_name("out.csv"),
        "overwrite": True,
    }
    return aegis.sanitize(source, **{**asked, **more})


def let_go(source: Path, **more: Any) -> Any:
    asked = {"policy": POLICY, "out": source.with_name("released.csv"), "overwrite": True}
    return aegis.release(source, **{**asked, **more})


def test_every_recipients_file_is_an_entry_that_says_what_is_proved_and_what_only_audited(source: Path) -> None:
    done = sanitized(source, recipient="press")
    ledger = read_ledger(ledger_path(source))
    public, own = ledger.releases.values()
    assert done.ledger_entries == tuple(ledger.releases)
    assert (public.name, public.recipient, public.columns) == ("out.csv", "press", ("zip", "ill"))
    assert (own.name, own.recipient, own.columns) == ("out-authorized.csv", "authorised party", ("hours", "ill"))
    assert {entry.kind for entry in (public, own)} == {"sanitized"}
    assert {entry.rows for entry in (public, own)} == {ROWS}
    assert public.promise is not None
    promise = public.promise["ill"]
    assert promise["proved"]["adversary_errors_at_least"] == [done.audits[0].proof.adversaries[0].proved_loss]
    assert len(promise["proved"]["assumptions"]) == 3
    assert promise["only_audited"]["authorised_errors"][0] <= 0.2
    certificate = json.loads((source.parent / "out.csv.certificate.json").read_text(encoding="utf-8"))
    assert certificate["ledger"]["name"] == ledger_path(source).name
    assert certificate["ledger"]["judged_with"] == []
    text = ledger_path(source).read_text(encoding="utf-8")
    assert "w17" not in text
    assert "z1" not in text, "a ledger holds no value"


def test_a_second_draw_of_a_column_is_refused_and_so_is_a_table_with_nothing_to_judge_it_by(source: Path) -> None:
    sanitized(source)
    before = ledger_path(source).read_bytes()
    for path in source.parent.glob("out*"):
        path.unlink()
    with pytest.raises(PolicyNotSatisfiedError, match=r"'ill' was sanitized for entry 2 .* averages two draws"):
        sanitized(source)
    with pytest.raises(PolicyNotSatisfiedError, match="there is no policy to judge by: give --policy"):
        sanitized(source, private=["ward"], distortion=0.9)
    assert ledger_path(source).read_bytes() == before
    assert not list(source.parent.glob("out*"))
    sanitized(source, despite_ledger="the first file never left")
    assert len(read_ledger(ledger_path(source)).releases) == 4
    assert {entry.despite for entry in read_ledger(ledger_path(source)).releases.values()} == {
        None,
        "the first file never left",
    }
    sanitized(source, ledger="none")
    assert len(read_ledger(ledger_path(source)).releases) == 4


def test_what_is_out_is_judged_with_a_sanitized_table_and_the_other_way_round(source: Path) -> None:
    """Whoever holds masked ages beside the public file knows zip codes row by row: together they single people out."""
    fine = {**POLICY, "k": 30}
    masked = {"age": {"bucketize": {"width": 20}}, "zip": "suppress"}
    let_go(source, config=masked, policy=fine, columns=["age", "zip", "ward"])
    alone = {"quasi_identifying": ["age", "zip"], "k": 30, "l": {"ill": 2}}
    strict = {**alone, "k": 250}
    with pytest.raises(PolicyNotSatisfiedError, match="together with entry 2"):
        sanitized(source, policy=strict)
    done = sanitized(source, policy=alone)
    certificate = json.loads((source.parent / "out.csv.certificate.json").read_text(encoding="utf-8"))
    assert certificate["ledger"]["judged_with"] == [2]
    assert done.ledger_entries == (3, 4)
    # ages as they are beside zip codes that are out: 12 classes of about 100
    with pytest.raises(PolicyNotSatisfiedError, match="together with"):
        let_go(source, config={"zip": "suppress"}, policy={**POLICY, "k": 130}, columns=["age", "zip", "ward"])
    assert let_go(source, config={"zip": "suppress"}, policy=fine, columns=["age", "zip", "ward"]).rows == ROWS


def test_what_a_sanitizer_hides_leaves_in_no_other_way(source: Path) -> None:
    """As it is, or drawn once more by a mask: neither a model nor the draw itself would notice."""
    sanitized(source, recipient="press")
    private = read_ledger(ledger_path(source)).releases[2]
    assert private.sanitized == ("ill",)
    k_only = {"quasi_identifying": ["age", "zip"], "insensitive": ["hours", "ward", "ill"], "k": 5}
    for policy, masks in ((POLICY, None), (k_only, None), (k_only, {"ill": {"randomize": {"keep": 0.3}}})):
        with pytest.raises(PolicyNotSatisfiedError, match=r"'ill' was sanitized for entry 2 \(out.csv\)"):
            let_go(source, config=masks, policy=policy)
    assert let_go(source, policy=k_only, columns=["age", "zip", "ward"]).rows == ROWS
    given = let_go(source, policy=k_only, despite_ledger="the first file never left")
    assert given.rows == ROWS


def test_what_left_before_is_not_sanitized_afterwards_and_a_sanitized_table_asks_for_no_less(source: Path) -> None:
    let_go(source, columns=["age", "zip", "ill"])
    with pytest.raises(PolicyNotSatisfiedError, match="'ill' left as it is in entry 2"):
        sanitized(source, policy=POLICY)
    less = {key: value for key, value in POLICY.items() if key != "l"}
    with pytest.raises(
        PolicyNotSatisfiedError, match=r"asks for less .*'ill' is not in this release, but somebody has"
    ):
        sanitized(source, policy=less, private=["ward"], distortion=0.9)


def test_a_model_that_is_applied_is_on_record_too(source: Path, tmp_path: Path) -> None:
    sanitized(source, model=tmp_path / "m.npz", ledger="none")
    new = tmp_path / "new.csv"
    new.write_bytes(source.read_bytes())
    done = aegis.sanitize(new, model=tmp_path / "m.npz", out=tmp_path / "new-out.csv")
    assert len(done.ledger_entries) == 2
    assert [entry.promise for entry in read_ledger(ledger_path(new)).releases.values()] == [None, None]
    with pytest.raises(PolicyNotSatisfiedError, match="averages two draws"):
        aegis.sanitize(new, model=tmp_path / "m.npz", out=tmp_path / "again.csv")
    assert not (tmp_path / "again.csv").exists()


def test_options_of_a_ledger_that_change_nothing_are_refused(source: Path) -> None:
    with pytest.raises(OptionError, match="nothing is released"):
        sanitized(source, out=None, overwrite=False, recipient="press")
    with pytest.raises(OptionError, match="without a ledger nothing is judged"):
        sanitized(source, ledger="none", despite_ledger="because")
    with pytest.raises(OptionError, match="nothing was released before"):
        sanitized(source, despite_ledger="because")
