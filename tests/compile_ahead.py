"""Compile the loops of the anonymizers, the search and the boxes once, so that not every worker of the tests does.

What is compiled is kept beside the sources. Without this the tests pass as well, and take longer.

    python tests/compile_ahead.py
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        os.environ["AEGIS_STATE"] = str(folder / "state")  # read when aegis first asks for it
        import aegis
        from aegis.candidates.clusters.records import Records
        from aegis.evaluation.grid_tuning import tune_records
        from aegis.library.clinic import write_clinic

        table = write_clinic(folder, rows=400)
        policy = table.parent / "policy.yaml"
        for method in ("mdav", "k-member"):
            aegis.anonymize(table, method=method, k=5, out=folder / f"{method}.csv")
        aegis.anonymize(table, method="mo-obam", k=5, seconds=1, out=folder / "mo-obam.csv")
        for space in ("levels", "cuts"):
            aegis.search(table, policy=policy, space=space, seconds=5, ledger="none")
        aegis.search(table, policy=policy, space="boxes", ledger="none")
        ages = np.arange(120) * 7 % 40 + 20.0
        records = Records.from_arrays(numeric=ages, categorical=list("fm") * 60, sensitive=list("xyz") * 40)
        tune_records(records, ks=(3,), classes=(4, 8), trade_offs=(0.0, 1.0), rounds=5, search=False)


if __name__ == "__main__":
    main()
