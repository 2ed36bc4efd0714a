"""Sepsis survival (110,204 rows): loss and entropy for 10 classes up to the number of unique tuples."""

from __future__ import annotations

from _result import write
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.records import collapse
from aegis.errors import AnonymizerError
from microaggregation_data import row, sepsis


def main() -> None:
    """One row per number of classes and trade-off; a refused setting is recorded with its reason."""
    records = sepsis()
    unique = len(collapse(records))
    MOOBAM(k=5, l=2, classes=10, trade_off=1.0, rounds=50).fit(records)  # compile outside the clock
    rows = []
    for classes in (10, 20, 50, 100, 200, 400, 600, unique):
        for trade_off in (0.0, 1.0):
            setting = {"n_C": classes, "trade_off": trade_off}
            try:
                search = MOOBAM(k=5, l=2, classes=classes, trade_off=trade_off, seconds=8, bound_share=0.1)
                rows.append(setting | row(search.fit(records), records))
            except AnonymizerError as error:
                rows.append(setting | {"refused": str(error)})
            print(rows[-1], flush=True)
    free = row(MOOBAM(k=5, l=2, seconds=15, bound_share=0.1).fit(records), records)
    write("microaggregation_sepsis", {"seed": 0, "unique_tuples": unique, "rows": rows, "free": free})


if __name__ == "__main__":
    main()
