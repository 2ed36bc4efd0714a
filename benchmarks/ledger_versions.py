"""Twenty versions of Adult that arrive in batches: nobody is told apart by comparing versions, and some rows wait.

Each version has the rows of the one before, without a few that leave, and a batch of new ones. Every version
is released under one configuration and one policy with the ledger's gate. Afterwards the released files are compared as
somebody would who can link every row: by pattern of presence and released tuple. The same is done without the ledger.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import aegis
from _result import dataset, write
from aegis.errors import PolicyNotSatisfiedError
from aegis.masking.masks.tokens import Pseudonym

VERSIONS, K = 20, 5
START_ROWS, BATCH, LEAVING = 6_000, 600, 2
POLICY = {
    "quasi_identifying": ["age", "sex", "education"],
    "sensitive": ["occupation"],
    "k": K,
    "l": {"occupation": 2},
    "max_suppression": 0.2,
}
MASKS = {"age": {"bucketize": {"width": 15}}, "education": "suppress"}


def main() -> None:
    people = _adult()
    record: dict[str, Any] = {"table_versions": VERSIONS, "k": K, "batch": BATCH, "leaving": LEAVING, "policy": POLICY}
    for with_ledger in (True, False):
        record["with the ledger" if with_ledger else "without"] = _run(people, with_ledger=with_ledger)
    write("ledger_versions", record)


def _adult() -> pd.DataFrame:
    source = dataset("adult_arx")
    path = next(iter(sorted(source.rglob("*.csv"))))
    people = pd.read_csv(path, sep=None, engine="python", dtype=str, nrows=40_000)
    people.columns = [name.strip().lower() for name in people.columns]
    kept = people[["age", "sex", "education", "occupation"]].copy()
    kept["age"] = kept["age"].astype(int)
    kept.insert(0, "person", [f"p{number:06d}" for number in range(len(kept))])
    return kept.sample(frac=1, random_state=0).reset_index(drop=True)


def _run(people: pd.DataFrame, *, with_ledger: bool) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    present = people.index[:START_ROWS].to_numpy()
    following = START_ROWS
    seen: dict[str, list[str]] = {name: [] for name in people.person}
    waiting_since: dict[str, int] = {}
    waited: list[int] = []
    held, refused, seconds = [], 0, []
    with tempfile.TemporaryDirectory() as folder:
        table, secret = Path(folder) / "adult.csv", Path(folder) / "secret"
        secret.write_text("kept for this comparison only", encoding="utf-8")
        shown_as = Pseudonym(key_file=str(secret))
        person_of = dict(zip(shown_as.on_values(people.person.to_numpy(dtype=object)), people.person, strict=True))
        for version in range(VERSIONS):
            if version:
                gone = rng.choice(present, size=LEAVING, replace=False)
                came = people.index[following : following + BATCH].to_numpy()
                present, following = np.concatenate([np.setdiff1d(present, gone), came]), following + BATCH
            people.loc[present].to_csv(table, index=False)
            out, begin = Path(folder) / f"v{version}.csv", time.process_time()
            try:
                # Pseudonyms that are the same in every version: what a perfect linker would know.
                aegis.release(
                    table,
                    config={**MASKS, "person": shown_as.spec()},
                    policy=POLICY,
                    out=out,
                    identifying=["person"],
                    ledger=None if with_ledger else "none",
                )
            except PolicyNotSatisfiedError:
                refused += 1
                continue
            seconds.append(time.process_time() - begin)
            released = pd.read_csv(out, dtype=str)
            shown = dict(
                zip(
                    released.person.map(person_of),
                    released.age + "/" + released.sex + "/" + released.education,
                    strict=True,
                )
            )
            for name, history in seen.items():
                history.append(shown.get(name, "absent"))
            inside = set(people.person[present])
            missing = [name for name in inside if name not in shown]
            held.append(len(missing))
            for name in missing:
                waiting_since.setdefault(name, version)
            for name in [name for name in waiting_since if name in shown]:
                waited.append(version - waiting_since.pop(name))
    histories = pd.Series({name: "|".join(history) for name, history in seen.items()})
    ever = histories[[any(part != "absent" for part in history.split("|")) for history in histories]]
    sizes = ever.map(ever.value_counts())
    return {
        "released_versions": VERSIONS - refused,
        "people_ever_released": len(ever),
        "people_in_a_group_below_k": int((sizes < K).sum()),
        "people_alone": int((sizes == 1).sum()),
        "smallest_group": int(sizes.min()),
        "rows_waiting_per_version": held,
        "rows_that_waited_and_left": len(waited),
        "versions_waited_mean": round(float(np.mean(waited)), 2) if waited else 0.0,
        "versions_waited_longest": max(waited, default=0),
        "rows_still_waiting": len(waiting_since),
        "cpu_seconds_per_release": round(float(np.mean(seconds)), 2),
    }


if __name__ == "__main__":
    main()
