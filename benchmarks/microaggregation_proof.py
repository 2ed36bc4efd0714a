"""How low the loss can be at all, with time for the bound: ``microaggregation_proof.py [adult|german]``.

Adult in 100 classes, 9 minutes: k = 5, and the bound holds for every larger k, which only adds constraints. German
credit in 30 classes with k = 20, 9 minutes: prices alone end below the figure, branching passes it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from _result import write
from aegis.candidates.clusters.lower_bound import lower_bound
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.outcome import gap_in_words
from aegis.candidates.clusters.records import Records
from microaggregation_data import adult, german, row


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A figure that the search does not reach."""

    records: Callable[[], Records]
    k: int
    classes: int
    search_seconds: float
    bound_seconds: float
    reach: float
    result: str


CASES = {
    "adult": Case(
        records=adult,
        k=5,
        classes=100,
        search_seconds=60,
        bound_seconds=420,
        reach=0.0025,
        result="microaggregation_proof",
    ),
    "german": Case(
        records=german,
        k=20,
        classes=30,
        search_seconds=60,
        bound_seconds=480,
        reach=0.0086,
        result="microaggregation_proof_german",
    ),
}


def prove(case: Case) -> None:
    """Search, then bound. l = 2 is kept by the search and ignored by the bound, which holds with it all the more."""
    records = case.records()
    search = MOOBAM(k=case.k, l=2, classes=case.classes, seconds=case.search_seconds, bound_share=0.0, random_state=2)
    search.fit(records)
    entry = row(search, records)
    entry["lower_bound"] = lower_bound(
        records,
        search.labels_,
        k=case.k,
        classes=case.classes,
        class_price=search.class_price_,
        seconds=case.bound_seconds,
    )
    entry |= {
        "n_C": case.classes,
        "reach": case.reach,
        "figure_proved_impossible": entry["lower_bound"] > case.reach,
        "gap": gap_in_words(entry["information_loss"], entry["lower_bound"]),
    }
    print(entry)
    write(case.result, {"seed": 2, "seconds_for_the_bound": case.bound_seconds, "row": entry})


if __name__ == "__main__":
    for chosen in sys.argv[1:] or CASES:
        prove(CASES[chosen])
