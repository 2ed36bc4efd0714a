"""Four classes and trade-off 1: how much entropy a little loss buys."""

from __future__ import annotations

from _result import write
from aegis.candidates.clusters.mo_obam import MOOBAM
from microaggregation_data import adult, german, row


def main() -> None:
    """German credit and Adult with k = 5 and l = 2; the loss at trade-off 0 beside it."""
    rows = []
    for name, records, seconds in (("german", german(), 20.0), ("adult", adult(), 40.0)):
        MOOBAM(k=5, l=2, classes=4, trade_off=1.0, rounds=50).fit(records)  # compile outside the clock
        search = MOOBAM(k=5, l=2, classes=4, trade_off=1.0, seconds=seconds, bound_share=0.1).fit(records)
        rows.append({"table": name, "loss_at_trade_off_0": search.result_.diagnosis.best_loss} | row(search, records))
        print(rows[-1], flush=True)
    write("microaggregation_entropy", {"seed": 0, "rows": rows})


if __name__ == "__main__":
    main()
