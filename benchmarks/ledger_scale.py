"""What judging together costs: ten releases beside one, a ledger of a thousand, a search under a ledger of ten.

CPU seconds of the whole process, engine threads included; the least of several rounds in which the two take turns. The
joint check is `aegis.check` of a made table of 1M rows × 8 quasi-identifiers in DuckDB with one configuration and with
ten different ones. The search looks through the levels of the bundled clinic, which takes a fifth of a second, and
through those of seven quasi-identifiers of Adult, each alone and under a ledger of ten until the best is proved.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pandas as pd

import aegis
from _result import dataset, write
from aegis.library.clinic import write_clinic
from aegis.privacy.policy import Recipients
from aegis.releases.ledger import Opening, append, ledger_path, read_ledger
from aegis.releases.ledger_entry import ANYBODY, EntryKind, RecordedRelease
from check_scale import SIZES, made

ROUNDS, RELEASES, ENTRIES = 3, 10, 1_000
POLICY = {"quasi_identifying": [f"q{i}" for i in range(8)], "k": 5, "l": {"s": 2}}


def main() -> None:
    searches = {"search": search_clinic(), "search_adult": search_adult()}
    write("ledger_scale", {"rounds": ROUNDS, **searches, "ledger": ledger(), "joint": joint()})


def cpu(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def joint() -> dict[str, Any]:
    table = ibis.duckdb.connect().create_table("t", ibis.memtable(made(SIZES["clustered"])))
    dataset = aegis.open_dataset(table)
    several = [
        {
            "q0": {"bucketize": {"width": 2 + number}},
            **{f"q{column}": "suppress" for column in range(1, 8) if (column + number) % 3},
        }
        for number in range(RELEASES)
    ]
    alone, together = [], []
    for _ in range(ROUNDS):
        alone.append(cpu(lambda: aegis.check(dataset, policy=POLICY, config=several[0], suppress=False)))
        together.append(cpu(lambda: aegis.check(dataset, policy=POLICY, config=several, suppress=False)))
    return {
        "releases": RELEASES,
        "one_check_seconds": round(min(alone), 3),
        "joint_check_seconds": round(min(together), 3),
        "ratio": round(min(together) / min(alone), 2),
    }


def ledger() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = ledger_path(Path(folder) / "t.csv")
        opening = Opening.new(source="t", columns=["a"])
        for number in range(ENTRIES):
            append(
                path,
                EntryKind.RELEASED,
                RecordedRelease(name=f"release {number}", kind="masks").to_mapping(),
                opening=opening,
            )

        def answer() -> None:
            read = read_ledger(path)
            read.counted(recipient=ANYBODY, recipients=Recipients.TOGETHER)
            read.spent()

        return {"releases": ENTRIES, "answer_seconds": round(min(cpu(answer) for _ in range(ROUNDS)), 4)}


def search_adult() -> dict[str, Any]:
    names = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")
    policy = {"quasi_identifying": list(names), "sensitive": ["occupation"], "k": 5, "max_suppression": 0.04}
    people = pd.read_csv(dataset("adult_arx/adult.csv"), dtype=str)
    people["age"] = people["age"].astype(int)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "adult.csv"
        people[[*names, "occupation", "salary-class"]].to_csv(table, index=False)
        for number in range(RELEASES):
            masks: dict[str, Any] = {name: "suppress" for name in names if name not in ("age", "sex")}
            masks["age"] = {"bucketize": {"width": (20, 40, 80, 100, 160)[number % 5]}}
            aegis.release(table, config=masks, policy=policy, insensitive=["rest"], out=table.parent / f"{number}.csv")
        given: dict[str, Any] = {"policy": policy, "label": "salary-class", "space": "levels", "seconds": 600}
        return _compared(lambda **more: aegis.search(table, **given, **more))


def _compared(found: Callable[..., Any]) -> dict[str, Any]:
    """What a search costs alone and under the ledger, in turns."""
    alone, under = [], []
    for _ in range(ROUNDS):
        alone.append(cpu(lambda: found(ledger="none")))
        under.append(cpu(found))
    return {
        "releases": RELEASES,
        "alone_seconds": round(min(alone), 3),
        "under_the_ledger_seconds": round(min(under), 3),
        "ratio": round(min(under) / min(alone), 2),
    }


def search_clinic() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        table = write_clinic(Path(folder), rows=12_000)
        policy = table.parent / "policy.yaml"
        for number in range(RELEASES):
            masks = {
                "age": {"bucketize": {"width": (10, 20, 40, 80, 160)[number % 5]}},
                "weight": "suppress" if number > 4 else {"bucketize": {"width": 40}},
                "zip": {"star_trailing": {"characters": 3}},
            }
            aegis.release(
                table,
                config=masks,
                policy=policy,
                out=table.parent / f"{number}.csv",
            )

        return _compared(lambda **given: aegis.search(table, policy=policy, space="levels", seconds=60, **given))


if __name__ == "__main__":
    main()
