"""The ledger file: only ever added to, whole or refused in a sentence, and a budget that no race exceeds."""

from __future__ import annotations

import datetime
import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aegis.errors import LedgerError
from aegis.privacy.policy import Recipients
from aegis.releases.budget import Budget, check_within, total
from aegis.releases.ledger import Opening, append, keep_key, key_of, ledger_path, private_folder, read_ledger
from aegis.releases.ledger_entry import ANYBODY, EntryKind, RecordedRelease

OPENING = Opening.new(source="clinic.csv", columns=["age", "zip"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return ledger_path(tmp_path / "clinic.csv")


def _release(path: Path, **given: Any) -> int:
    recorded = RecordedRelease(**{"name": "out.csv", "kind": "masks", **given})
    return append(path, EntryKind.RELEASED, recorded.to_mapping(), opening=OPENING).sequence


def test_what_was_appended_is_read_again(path: Path) -> None:
    budget = Budget(epsilon=1.0, delta=1e-6, rho=0.02)
    first = _release(path, recipient="hospital", rows=12, columns=("age",), budget=budget, rows_as=2)
    second = _release(path)
    ledger = read_ledger(path)
    assert (first, second) == (2, 3)
    assert ledger.opening == OPENING
    assert ledger.releases[first] == RecordedRelease(
        name="out.csv", kind="masks", recipient="hospital", rows=12, columns=("age",), budget=budget, rows_as=2
    )
    assert ledger.budgets == (budget,)


def test_a_ledger_that_nobody_wrote_is_empty(path: Path) -> None:
    assert read_ledger(path).entries == ()
    assert read_ledger(path).opening is None
    assert not private_folder(path).exists()


def test_only_the_owner_reads_key_and_ledger(path: Path) -> None:
    key = key_of(path)
    keep_key(path, key)
    _release(path)
    assert key == key_of(path)
    assert len(key) == 32
    for file in (path, private_folder(path) / "key", private_folder(path) / "head.json"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(private_folder(path).stat().st_mode) == 0o700


def test_a_ledger_whose_key_is_gone_or_damaged_is_refused(path: Path) -> None:
    _release(path, linkable=False)
    assert len(key_of(path)) == 32, "a ledger of synthetic tables has no digests, and needed no key"
    _release(path, version="a digest")
    with pytest.raises(LedgerError, match="put it back"):
        key_of(path)
    (private_folder(path) / "key").write_text("no key", encoding="ascii")
    with pytest.raises(LedgerError, match="does not hold the key"):
        key_of(path)


def test_a_forgotten_release_does_not_count_and_its_budget_stays_spent(path: Path) -> None:
    number = _release(path, budget=Budget(rho=0.5))
    append(path, EntryKind.FORGOTTEN, {"release": number, "reason": "never sent"}, opening=OPENING)
    ledger = read_ledger(path)
    assert ledger.counted(recipient=ANYBODY, recipients=Recipients.TOGETHER) == {}
    assert ledger.forgotten == {number: "never sent"}
    assert ledger.spent().rho == 0.5


@pytest.mark.parametrize(
    ("recipient", "recipients", "counted"),
    [
        ("ana", Recipients.TOGETHER, {2, 3, 4}),
        ("ana", Recipients.SEPARATE, {2, 4}),
        ("eve", Recipients.SEPARATE, {4}),
        (ANYBODY, Recipients.SEPARATE, {2, 3, 4}),
    ],
)
def test_recipients_that_do_not_collude_hold_what_they_got_and_what_anybody_got(
    path: Path, recipient: str, recipients: Recipients, counted: set[int]
) -> None:
    for name in ("ana", "bob", ANYBODY):
        _release(path, recipient=name, recipients=Recipients.SEPARATE)
    assert set(read_ledger(path).counted(recipient=recipient, recipients=recipients)) == counted


def _edited(path: Path, number: int, **changes: Any) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[number] = json.dumps({**json.loads(lines[number]), **changes})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("number", [0, 1, 2])
def test_an_edited_line_is_found(path: Path, number: int) -> None:
    _release(path)
    _release(path)
    _edited(path, number, at="2020-01-01T00:00:00.000000+00:00")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=f"line {number + 1} of the ledger clinic.csv.ledger.jsonl"):
        _release(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_ledger_that_was_cut_or_removed_is_found(path: Path, kept: int) -> None:
    _release(path)
    _release(path)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:kept]), encoding="utf-8")
    with pytest.raises(LedgerError, match=f"was cut: it has {kept} entries and had 3"):
        read_ledger(path)
    path.unlink()
    with pytest.raises(LedgerError, match="was cut: it has 0 entries"):
        _release(path)
    assert not path.exists()


def test_a_ledger_that_was_written_anew_is_found(path: Path, tmp_path: Path) -> None:
    _release(path)
    other = ledger_path(tmp_path / "other" / "clinic.csv")
    _release(other, name="another.csv")
    path.write_bytes(other.read_bytes())
    with pytest.raises(LedgerError, match="written anew"):
        read_ledger(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [("garbage\n", "is no ledger"), ("{}\n", "line 1"), ("[1]\n", "is no ledger"), ('{"sequence": "x"}\n', "line 1")],
)
def test_what_is_no_ledger_is_refused(path: Path, text: str, said: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LedgerError, match=said):
        read_ledger(path)


def test_a_line_that_its_writer_did_not_finish_is_dropped(path: Path) -> None:
    _release(path)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"sequence": 3, "at"')
    assert len(read_ledger(path).entries) == 2
    assert _release(path) == 3
    assert len(read_ledger(path).entries) == 3


def test_a_clock_that_went_back_is_refused(path: Path) -> None:
    now = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC)
    content = RecordedRelease(name="a", kind="masks").to_mapping()
    append(path, EntryKind.RELEASED, content, opening=OPENING, now=now)
    with pytest.raises(LedgerError, match="the clock went back"):
        append(path, EntryKind.RELEASED, content, opening=OPENING, now=now - datetime.timedelta(hours=1))
    slightly = append(path, EntryKind.RELEASED, content, opening=OPENING, now=now - datetime.timedelta(seconds=1))
    assert slightly.at == now
    assert len(read_ledger(path).entries) == 3


def test_whoever_judged_an_older_ledger_writes_nothing(path: Path) -> None:
    _release(path)
    judged = read_ledger(path).head
    _release(path)
    content = RecordedRelease(name="late", kind="masks").to_mapping()
    with pytest.raises(LedgerError, match="something else was released meanwhile"):
        append(path, EntryKind.RELEASED, content, opening=OPENING, expected_head=judged)
    assert len(read_ledger(path).entries) == 3


SPEND = """
import sys
from pathlib import Path
from aegis.errors import LedgerError
from aegis.releases.budget import Budget
from aegis.releases.ledger import Opening, append
from aegis.releases.ledger_entry import EntryKind, RecordedRelease

recorded = RecordedRelease(name="out.csv", kind="masks", budget=Budget(rho=0.1), linkable=False)
opening = Opening.new(source="clinic.csv", columns=["age", "zip"])
print("ready", flush=True)
sys.stdin.readline()
try:
    append(Path(sys.argv[1]), EntryKind.RELEASED, recorded.to_mapping(), opening=opening)
    print("spent")
except LedgerError:
    print("refused")
"""


def test_processes_that_race_for_a_budget_never_exceed_it(path: Path) -> None:
    append(path, EntryKind.LIMITED, {"budget": Budget(rho=0.25).to_mapping(), "reason": None}, opening=OPENING)
    command = [sys.executable, "-c", SPEND, str(path)]
    # Processes of their own, and not forks of this one: a thread of the tests may hold a lock when it is forked.
    racing = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for process in racing:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in racing:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate()[0].strip() for process in racing]
    assert sorted(answers) == ["refused", "refused", "spent", "spent"]
    assert read_ledger(path).spent().rho == pytest.approx(0.2)


def test_budgets_add_in_the_better_of_two_ways() -> None:
    many = total([Budget(epsilon=0.1, delta=0.0)] * 100, delta=1e-6)
    assert many.rho == pytest.approx(0.5)
    assert many.epsilon < 10 * 0.6  # adding ε would say 10
    few = total([Budget(epsilon=0.5)], delta=1e-6)
    assert few.epsilon == 0.5
    mixed = total([Budget(epsilon=1.0, delta=1e-6), Budget(rho=0.1)], delta=2e-6)
    assert mixed.rho is None
    assert mixed.epsilon == pytest.approx(1 + total([Budget(rho=0.1)], delta=1e-6).epsilon)
    assert total([Budget(epsilon=1.0, delta=1e-5)], delta=1e-6).epsilon == float("inf")
    assert total([], delta=0.0).epsilon == 0


@pytest.mark.parametrize(
    ("limit", "asked", "which"),
    [
        (Budget(rho=1.0), Budget(rho=0.6), "ρ"),
        (Budget(epsilon=2.0), Budget(epsilon=1.5), "ε"),
        (Budget(rho=9.0), Budget(epsilon=0.1, delta=1e-6), "ρ"),
    ],
)
def test_a_budget_that_is_exceeded_is_refused_with_what_is_left(limit: Budget, asked: Budget, which: str) -> None:
    spent = [Budget(epsilon=1.0, rho=0.5)]
    with pytest.raises(LedgerError, match=f"more {which} would exceed it"):
        check_within(limit, spent, asked)


def test_a_limit_without_room_for_a_delta_says_so() -> None:
    with pytest.raises(LedgerError, match=r"leaves no room for a release at δ = 1e-05; set the limit again"):
        check_within(Budget(epsilon=2.0, delta=1e-6), [Budget(epsilon=1.0, rho=0.5)], Budget(epsilon=0.1, delta=1e-5))


def test_a_budget_that_is_met_exactly_passes() -> None:
    check_within(Budget(rho=0.3), [Budget(rho=0.1), Budget(rho=0.1)], Budget(rho=0.1))
    check_within(Budget(epsilon=0.3), [Budget(epsilon=0.1), Budget(epsilon=0.1)], Budget(epsilon=0.1))


@pytest.mark.parametrize(
    "wrong",
    [{}, {"epsilon": -1}, {"epsilon": float("nan")}, {"epsilon": 1, "delta": 1}, {"rho": float("inf")}, {"rho": True}],
)
def test_a_budget_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(LedgerError, match="privacy budget"):
        Budget(**wrong)
