"""What noise is drawn for is on the record before it is drawn, and stays there whatever comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import aegis
from aegis.candidates.synthesis.measuring import OpenDPNoise
from aegis.errors import AegisError, LabelError, LedgerError, OptionError
from aegis.releases.budget import Budget
from aegis.releases.ledger import ledger_path, read_ledger

OPTIONS: dict[str, Any] = {"epsilon": 1.0, "label": "sick"}
DOMAIN: dict[str, Any] = {"columns": {"age": {"min": 20, "max": 79}, "sex": ["f", "m"], "sick": ["no", "yes"]}}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "people.csv"
    people = {"age": rng.integers(20, 80, 400), "sex": rng.choice(["f", "m"], 400), "sick": ["yes"] * 5 + ["no"] * 395}
    pd.DataFrame(people).to_csv(path, index=False)
    return path


def test_a_refusal_that_looked_at_the_data_is_spent_and_cannot_be_asked_for_again(data: Path, tmp_path: Path) -> None:
    aegis.ledger_limit(data, epsilon=1.0, delta=1e-6)
    with pytest.raises(LabelError, match=r"ε = 1, δ = 1e-06 is spent \(entry 3 of people.csv.ledger.jsonl\)"):
        aegis.synthesize(data, out=tmp_path / "made.csv", **OPTIONS)  # five of a value are below every threshold
    assert not list(tmp_path.glob("made*"))
    with pytest.raises(LedgerError, match="leaves no room"):
        aegis.synthesize(data, out=tmp_path / "made.csv", **OPTIONS)
    shown = aegis.ledger_show(data)
    (stopped,) = shown.releases
    assert (stopped["name"], stopped["finished"], stopped["rows"]) == ("made.csv", False, 0)
    assert shown.headline.endswith("0 releases, 0 of them count")


def test_the_budget_is_on_the_record_before_the_first_noise_is_drawn(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        assert len(read_ledger(ledger_path(data)).budgets) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(OpenDPNoise, "on_counts", broken)
    with pytest.raises(KeyboardInterrupt):
        aegis.synthesize(data, out=tmp_path / "made.csv", domain=DOMAIN, **OPTIONS)
    assert [budget.epsilon for budget in read_ledger(ledger_path(data)).budgets] == [1.0]


def test_a_mistake_that_is_seen_before_noise_costs_nothing(data: Path, tmp_path: Path) -> None:
    with pytest.raises(AegisError, match="declared domain misses"):
        aegis.synthesize(data, out=tmp_path / "made.csv", domain={"columns": {"sick": ["yes"]}}, **OPTIONS)
    assert read_ledger(ledger_path(data)).budgets == ()


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        ({}, "no configuration to rank"),
        ({"configs": [{"weight": "suppress"}]}, "which the table does not have"),
        ({"configs": [{"sex": {"bucketize": {"width": 2}}}]}, "bucketize"),
        ({"generate": 2, "mask_columns": ["sick"]}, "cannot mask 'sick'"),
        ({"generate": 2, "out": "taken"}, "exists already"),
    ],
)
def test_a_mistake_in_a_noisy_summary_costs_nothing(
    data: Path, tmp_path: Path, mistake: dict[str, Any], sentence: str
) -> None:
    aegis.ledger_limit(data, epsilon=1.0)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "notes.txt").write_text("mine", encoding="utf-8")
    options = OPTIONS | mistake | {"out": tmp_path / mistake.get("out", "noisy")}
    with pytest.raises(AegisError, match=sentence):
        aegis.summarize(data, **options)
    assert read_ledger(ledger_path(data)).budgets == ()


def test_no_verdict_on_the_true_rows_stands_in_a_noisy_summary(data: Path, tmp_path: Path) -> None:
    """One row more in a small class, and a configuration was named as rejected, however small epsilon was."""
    policy = {"quasi_identifying": ["age", "sex"], "k": 2}
    with pytest.raises(OptionError, match=r"one row can decide that.*--policy"):
        aegis.summarize(data, configs=[{"age": "suppress"}], policy=policy, out=tmp_path / "noisy", **OPTIONS)
    assert not (tmp_path / "noisy").exists()
    assert not ledger_path(data).exists()


def test_what_left_is_spent_once(data: Path, tmp_path: Path) -> None:
    made = aegis.synthesize(data, out=tmp_path / "made.csv", domain=DOMAIN, **OPTIONS)
    ledger = read_ledger(ledger_path(data))
    assert (made.ledger, len(ledger.budgets), ledger.unfinished) == (3, 1, {})
    assert ledger.releases[3].begun == 2
    content = json.loads(Path(str(made.certificate)).read_text(encoding="utf-8"))
    assert content["ledger"] == {"name": ledger.path.name, "begun": 2, "recipient": "anybody", "despite": None}
    assert not made.judged_alone


@pytest.mark.parametrize("off_record", [{"ledger": "none"}, {"seed": 1}])
def test_a_limit_is_passed_by_with_a_reason_only(data: Path, tmp_path: Path, off_record: dict[str, Any]) -> None:
    aegis.ledger_limit(data, epsilon=0.5, delta=1e-6)
    copy = tmp_path / "copy.csv"
    copy.write_bytes(data.read_bytes())
    out, given = tmp_path / "made.csv", {**OPTIONS, "domain": DOMAIN, **off_record}
    for path in (data, *([copy] if "ledger" in off_record else [])):
        with pytest.raises(LedgerError, match="--despite-ledger"):
            aegis.synthesize(path, out=out, **given)
    assert not out.exists()
    made = aegis.synthesize(data, out=out, despite_ledger="for a test", **given)
    assert made.judged_alone
    content = json.loads(Path(str(made.certificate)).read_text(encoding="utf-8"))
    assert content["ledger"]["despite"] == "for a test"


def test_a_table_that_was_judged_alone_says_so_everywhere(data: Path, tmp_path: Path) -> None:
    made = aegis.synthesize(data, out=tmp_path / "made.csv", domain=DOMAIN, ledger="none", **OPTIONS)
    assert any(text.startswith("judged alone") for text in made.warnings)
    verified = aegis.verify(str(made.out), str(made.certificate))
    assert verified.verified
    assert any("judged it alone" in text for text in verified.not_checked)
    with pytest.raises(OptionError, match="no limit is on record"):
        aegis.synthesize(data, out=tmp_path / "x.csv", ledger="none", despite_ledger="why not", **OPTIONS)


def test_more_than_the_limit_leaves_with_a_reason_that_is_on_record(data: Path, tmp_path: Path) -> None:
    aegis.ledger_limit(data, epsilon=0.5, delta=1e-6)
    given = {**OPTIONS, "domain": DOMAIN, "out": tmp_path / "made.csv"}
    with pytest.raises(LedgerError, match=r"spent: nothing; left: ε = 0.5, δ = 1e-06"):
        aegis.synthesize(data, **given)
    made = aegis.synthesize(data, despite_ledger="the board agreed", **given)
    assert made.ledger is not None
    assert read_ledger(ledger_path(data)).releases[made.ledger].despite == "the board agreed"
    verified = aegis.verify(str(made.out), str(made.certificate))
    assert any("the board agreed" in text for text in verified.not_checked)


def test_noise_of_a_summary_keeps_the_same_rules(data: Path, tmp_path: Path) -> None:
    aegis.ledger_limit(data, epsilon=0.5, delta=1e-6)
    given: dict[str, Any] = {"label": "sex", "generate": 1, "race": False, "out": tmp_path / "counts"}
    for named in ({"epsilon": 1.0, "ledger": "none"}, {"epsilon": 1.0}):
        with pytest.raises(LedgerError):
            aegis.summarize(data, **named, **given)
    assert not (tmp_path / "counts").exists()
    aegis.summarize(data, epsilon=0.5, **given)
    assert read_ledger(ledger_path(data)).budgets == (Budget(epsilon=0.5),)
    assert aegis.ledger_show(data).left == "nothing"
