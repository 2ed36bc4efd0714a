"""A table anonymized by a peer, run in the peer's own environment: ``python _boxes_peer.py JOB.json``.

The job names the method, the rows, the quasi-identifiers, the label, k and where the released rows go.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd

WIDTHS = (5, 10, 20, 40)
"""The steps of the hierarchy of numbers that ANJANA is given; that of categories is the value, then ``*``."""


def by_anonypy(table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    """Mondrian; its answer counts the records of each class and label, spelled out again here."""
    import anonypy  # type: ignore[import-not-found]

    for name in job["categories"]:
        table[name] = table[name].astype("category")
    table[job["label"]] = table[job["label"]].astype("category")
    columns = [*job["numbers"], *job["categories"]]
    counted = pd.DataFrame(anonypy.Preserver(table, columns, job["label"]).anonymize_k_anonymity(k=job["k"]))
    rows = counted.loc[counted.index.repeat(counted["count"])].drop(columns="count").reset_index(drop=True)
    for name in job["numbers"]:
        rows[name] = [_interval(value[0] if isinstance(value, list) else value) for value in rows[name]]
    for name in job["categories"]:
        rows[name] = [_set(value) for value in rows[name]]
    return rows


def _interval(text: object) -> str:
    """An interval of whole numbers without its upper end, as the consumer reads them."""
    low, _, high = str(text).partition("-")
    return f"[{float(low):g}, {float(high) + 1:g})" if high else f"{float(low):g}"


def _set(value: Any) -> str:
    texts = value if isinstance(value, list) else [value]
    members = sorted({member.strip() for text in texts for member in str(text).split(",")})
    return members[0] if len(members) == 1 else "{" + ", ".join(members) + "}"


def by_anjana(table: pd.DataFrame, job: dict[str, Any]) -> pd.DataFrame:
    """One level of a hierarchy for each column, no suppression."""
    import numpy as np
    from anjana.anonymity import k_anonymity  # type: ignore[import-not-found]

    columns = [*job["numbers"], *job["categories"]]
    hierarchies: dict[str, dict[int, Any]] = {}
    for name in columns:
        values = table[name].to_numpy()
        levels: dict[int, Any] = {0: values}
        if name in job["numbers"]:
            for level, width in enumerate(WIDTHS, start=1):
                low = np.floor(values.astype(float) / width) * width
                levels[level] = np.array([f"[{start:g}, {start + width:g})" for start in low], dtype=object)
        levels[len(levels)] = np.array(["*"] * len(values), dtype=object)
        hierarchies[name] = levels
    return k_anonymity(table, [], columns, job["k"], 0, hierarchies)


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    table = pd.read_csv(job["rows"], keep_default_na=False)
    began = time.process_time()
    released = {"anonypy": by_anonypy, "anjana": by_anjana}[job["method"]](table, job)
    seconds = time.process_time() - began
    released.to_csv(job["out"], index=False)
    print(json.dumps({"cpu_seconds": round(seconds, 2), "rows": len(released)}))


if __name__ == "__main__":
    main()
