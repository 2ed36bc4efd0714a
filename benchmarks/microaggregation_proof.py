"""How low the loss of Adult in 100 classes can be at all: the dual bound with seven minutes of its own."""

from __future__ import annotations

from _result import write
from aegis.anonymizers.lower_bound import gap_in_words, lower_bound
from aegis.anonymizers.mo_obam import MOOBAM
from microaggregation_data import adult, row

SECONDS = 420.0
REACH = 0.0025


def main() -> None:
    """k = 5; the bound ignores l and a larger k only adds constraints, so it holds for every larger k too."""
    records = adult()
    search = MOOBAM(k=5, l=2, classes=100, seconds=60, bound_share=0.0, random_state=2)
    search.fit(records)
    entry = row(search, records)
    entry["lower_bound"] = lower_bound(
        records, search.labels_, k=5, classes=100, class_price=search.class_price_, seconds=SECONDS
    )
    entry |= {"n_C": 100, "reach": REACH, "figure_proved_impossible": entry["lower_bound"] > REACH}
    entry["gap"] = gap_in_words(entry["information_loss"], entry["lower_bound"])
    print(entry)
    write("microaggregation_proof", {"seed": 2, "seconds_for_the_bound": SECONDS, "row": entry})


if __name__ == "__main__":
    main()
