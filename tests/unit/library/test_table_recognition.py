"""A table is known again by its rows, whatever it is called: its ledger cannot be walked around by a copy."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import aegis
from aegis.errors import LedgerError, OtherLedgerError, PolicyNotSatisfiedError
from aegis.library.ledgers.recognition import forget_rows
from aegis.releases.ledger import ledger_path, private_folder
from aegis.releases.table_register import registered_tables, state_folder

ROWS = 400
POLICY = {"quasi_identifying": ["age", "zip"], "insensitive": ["ward", "day", "illness"], "k": 5}
BY_AGE = {"age": {"bucketize": {"width": 5}}, "zip": "suppress"}
BY_ZIP = {"age": "suppress", "zip": {"star_trailing": {"characters": 2}}}


def people(*, first: int = 0, rows: int = ROWS) -> pd.DataFrame:
    """Made-up people, no two alike, and others for another ``first``."""
    return pd.DataFrame(
        [
            {
                "person": f"N{number:05d}",
                "age": 20 + (number * 7) % 61,
                "zip": f"{10000 + (number * 37) % 997}",
                "ward": "ABCD"[number % 4],
                "day": f"2024-{1 + number % 12:02d}-{1 + number % 28:02d}",
                "illness": ["flu", "cold", "none"][(number * number) % 3],
            }
            for number in range(first, first + rows)
        ]
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A table of which something left by age."""
    path = tmp_path / "people.csv"
    people().to_csv(path, index=False)
    let_go(path, BY_AGE)
    return path


def let_go(data: Any, config: dict[str, Any], **more: Any) -> Any:
    folder = Path(data).parent if isinstance(data, str | Path) else Path(more.pop("folder"))
    given = {"identifying": ["person"]} | more
    return aegis.release(data, config=config, policy=POLICY, out=folder / "out.csv", overwrite=True, **given)


def _copied(table: Path) -> Path:
    return Path(shutil.copy(table, table.with_name("copy.csv")))


def _linked(table: Path) -> Path:
    os.link(table, table.with_name("linked.csv"))
    return table.with_name("linked.csv")


def _elsewhere(table: Path) -> Path:
    (table.parent / "other").mkdir()
    return Path(shutil.copy(table, table.parent / "other" / table.name))


def _changed(name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Path], Path]:
    def made(table: Path) -> Path:
        path = table.with_name(name)
        frame = change(pd.read_csv(table, dtype={"zip": str}))
        frame.to_parquet(path) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
        return path

    return made


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(age=frame["age"].astype(float), day=pd.to_datetime(frame["day"]))


def _numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """With other numbers of people, all different: rows are not known by these."""
    return frame.assign(person=[f"X{number}" for number in range(len(frame))])


COPIES: dict[str, Callable[[Path], Path]] = {
    "copy": _copied,
    "hard link": _linked,
    "another folder": _elsewhere,
    "parquet": _changed("p.parquet", lambda frame: frame),
    "parquet, other types": _changed("p.parquet", _typed),
    "texts": _changed("p.parquet", lambda frame: frame.astype(str)),
    "shuffled": _changed("s.csv", lambda frame: frame.sample(frac=1, random_state=0)),
    "columns in another order": _changed("c.csv", lambda frame: frame[list(frame.columns)[::-1]]),
    "grown": _changed("g.csv", lambda frame: pd.concat([frame, people(first=5_000, rows=300)])),
    "every row twice": _changed("t.csv", lambda frame: _numbered(pd.concat([frame, frame]))),
    "several rows for each": _changed(
        "j.csv", lambda frame: _numbered(frame.loc[frame.index.repeat(1 + frame.index % 4)].assign(visit=range(1000)))
    ),
    "grown by 80 %, some rows repeated": _changed(
        "e.csv", lambda frame: _numbered(pd.concat([frame, frame[::2], people(first=5_000, rows=120)]))
    ),
    "a part": _changed("h.csv", lambda frame: frame.iloc[100:220]),
    "one row changed": _changed("o.csv", lambda frame: frame.assign(age=frame["age"].where(frame.index != 3, 99))),
    "a column more": _changed("m.csv", lambda frame: frame.assign(ward2=frame.index % 9)),
    "a column less": _changed("l.csv", lambda frame: frame.drop(columns="person")),
    "a column changed": _changed("w.csv", lambda frame: frame.assign(illness="unknown")),
    "new numbers": _changed("n.csv", lambda frame: frame.assign(person=[f"X{i}" for i in range(len(frame))])),
    "new numbers, other columns changed": _changed(
        "b.csv", lambda frame: frame.assign(person=[f"X{i}" for i in range(len(frame))], ward="Z", illness="unknown")
    ),
}


def test_a_copy_is_sent_to_the_ledger_of_its_rows(source: Path) -> None:
    let_through = []
    for way, make in COPIES.items():
        copy = make(source)
        roles = {"identifying": ["person"] if way != "a column less" else []}
        more = {"insensitive": "rest"} if way in ("a column more", "several rows for each") else {}
        with contextlib.suppress(OtherLedgerError):
            let_go(copy, BY_ZIP, **roles, **more)
            let_through.append(way)
        assert not ledger_path(copy).exists(), way
    assert not let_through
    with pytest.raises(OtherLedgerError, match=re.escape(f"--ledger {ledger_path(source)}, so that")):
        let_go(source.with_name("copy.csv"), BY_ZIP)


def test_whoever_writes_a_table_of_a_copy_is_told_what_left_before(source: Path) -> None:
    copy, out = _copied(source), source.with_name("written.csv")
    more: dict[str, Any] = {"out": out, "overwrite": True, "identifying": ["person"]}
    applied = aegis.apply(copy, config=BY_AGE, **more)
    assert "copy holds rows of people, of which something was released before" in applied.warnings[-1]
    assert f"--rows-of copy.csv --ledger {ledger_path(source)} " in applied.warnings[-1]
    clustered = aegis.anonymize(copy, quasi=["age"], k=5, method="mdav", **more)
    assert clustered.not_judged_with == applied.not_judged_with
    others = source.with_name("others.csv")
    people(first=ROWS).to_csv(others, index=False)
    assert aegis.apply(others, config=BY_AGE, **more).not_judged_with is None


def test_with_that_ledger_the_two_are_judged_together(source: Path) -> None:
    copy = _copied(source)
    with pytest.raises(PolicyNotSatisfiedError, match="together with entry 2"):
        let_go(copy, BY_ZIP, ledger=ledger_path(source))
    let_go(copy, BY_AGE, ledger=ledger_path(source))


def test_a_table_in_which_every_row_stands_twice_has_no_budget_of_its_own(source: Path) -> None:
    twice = COPIES["every row twice"](source)
    with pytest.raises(OtherLedgerError, match="holds rows of people"):
        aegis.ledger_limit(twice, epsilon=1.0)


def test_a_table_with_columns_added_has_no_budget_of_its_own(source: Path) -> None:
    """However many: it is looked at by the columns that the other one has too."""
    more = {"rowid": range(ROWS), "year": 2024, "hour": [number % 24 for number in range(ROWS)]}
    for added in (["rowid", "year"], ["rowid", "year", "hour"]):
        frame = pd.read_csv(source, dtype={"zip": str}).assign(**{name: more[name] for name in added})
        wider = source.with_name(f"wider{len(added)}.csv")
        frame.to_csv(wider, index=False)
        with pytest.raises(OtherLedgerError, match="holds rows of people"):
            aegis.ledger_limit(wider, epsilon=1.0)
        with pytest.raises(OtherLedgerError, match="holds rows of people"):
            let_go(wider, BY_ZIP, insensitive="rest")
    others = source.with_name("others.csv")
    people(first=ROWS).assign(**more).to_csv(others, index=False)
    aegis.ledger_limit(others, epsilon=1.0)


def test_rows_of_the_same_kind_are_another_table_where_many_are_alike(tmp_path: Path) -> None:
    """Two wards full of people who differ in little: equal rows say nothing of whose they are."""
    for name, first in (("east.csv", 0), ("west.csv", 7)):
        frame = people(first=first, rows=300).assign(zip="10115", day="2024-01-01", illness="flu", ward="A")
        frame["age"] = [20 + 10 * (number * number % 7 + first % 3) for number in range(300)]
        frame.iloc[: 290 + first].to_csv(tmp_path / name, index=False)
        let_go(tmp_path / name, {"age": "suppress", "zip": "suppress"})
    assert len(registered_tables()) == 2


def test_other_people_are_another_table(source: Path, tmp_path: Path) -> None:
    others = tmp_path / "others.csv"
    people(first=ROWS).to_csv(others, index=False)
    let_go(others, BY_ZIP)
    assert ledger_path(others).exists()
    assert len(registered_tables()) == 2


def test_a_frame_of_the_same_rows_needs_the_ledger_too(source: Path, tmp_path: Path) -> None:
    with pytest.raises(OtherLedgerError, match="people"):
        let_go(people(), BY_ZIP, folder=tmp_path)
    let_go(people(), BY_ZIP, folder=tmp_path, ledger="none")


def test_another_ledger_is_no_way_out(source: Path, tmp_path: Path) -> None:
    with pytest.raises(OtherLedgerError):
        let_go(source, BY_ZIP, ledger=tmp_path / "mine.ledger.jsonl")


def test_whoever_looks_for_a_release_is_told_as_well(source: Path) -> None:
    copy = _copied(source)
    with pytest.raises(OtherLedgerError):
        aegis.search(copy, policy=POLICY, label="illness", identifying=["person"], space="levels", seconds=5)


def test_a_ledger_that_disappeared_with_its_folder_is_missed(source: Path) -> None:
    ledger_path(source).unlink()
    shutil.rmtree(private_folder(ledger_path(source)))
    with pytest.raises(OtherLedgerError, match="missing") as refused:
        let_go(source, BY_ZIP)
    assert refused.value.exit_status == 2
    let_go(source, BY_ZIP, despite_ledger="the disk broke")
    assert aegis.ledger_show(source).releases[0]["despite"] == "the disk broke"
    let_go(source, BY_ZIP)  # the new ledger is the one that counts now


def test_a_ledger_that_came_back_as_it_was_is_an_older_copy(source: Path, tmp_path: Path) -> None:
    ledger, private = ledger_path(source), private_folder(ledger_path(source))
    shutil.copy(ledger, tmp_path / "before.jsonl")
    shutil.copytree(private, tmp_path / "before")
    let_go(source, {"age": {"bucketize": {"width": 40}}, "zip": "suppress"})
    shutil.copy(tmp_path / "before.jsonl", ledger)
    shutil.rmtree(private)
    shutil.copytree(tmp_path / "before", private)
    with pytest.raises(LedgerError, match="older copy"):
        let_go(source, BY_ZIP)


def test_a_table_that_moved_with_its_ledger_stays_known(source: Path, tmp_path: Path) -> None:
    new = tmp_path / "moved"
    new.mkdir()
    for path in (source, ledger_path(source), private_folder(ledger_path(source))):
        shutil.move(path, new / path.name)
    let_go(new / source.name, BY_AGE)
    (table,) = registered_tables()
    assert table.ledger == ledger_path(new / source.name)


def test_no_value_is_kept_and_nobody_else_reads_it(source: Path) -> None:
    folder = state_folder() / "tables"
    assert folder.stat().st_mode & 0o777 == 0o700
    files = [path for path in folder.iterdir() if path.name != "lock"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    (table,) = registered_tables()
    assert len(table.sketch.digests) < 2 * 10 * ROWS
    for path in files:
        assert b"N00003" not in path.read_bytes()


def test_a_damaged_register_is_said(source: Path) -> None:
    (file,) = (state_folder() / "tables").glob("*.npz")
    file.write_bytes(b"nothing")
    with pytest.raises(LedgerError, match="damaged"):
        let_go(source, BY_AGE)


def test_made_up_rows_that_are_drawn_again_begin_anew(source: Path) -> None:
    forget_rows(aegis.open_dataset(source))
    assert registered_tables() == ()
    let_go(_copied(source), BY_ZIP)


def test_start_says_it_of_a_copy_of_the_same_name_before_the_first_step(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = source.parent / "elsewhere"
    folder.mkdir()
    copy = folder / source.name
    copy.write_bytes(source.read_bytes())
    where = f"another table called {source.stem}, whose ledger is in {source.parent.name}"
    capsys.readouterr()
    with pytest.raises(OtherLedgerError, match=re.escape(where)):
        aegis.start(copy, yes=True)
    said = capsys.readouterr()
    assert "1 of 6" not in said.out + said.err
    assert [path.name for path in folder.iterdir()] == [copy.name]
