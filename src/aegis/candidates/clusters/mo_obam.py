"""MO-OBAM: classes that lose little and mix secrets well, with k and l kept as hard constraints.

The model is that of Wei, Benson, Agor and Capan; the search is ours. It minimises the information loss first and then,
for a trade-off above 0, the scaled sum of loss and entropy.
"""

from __future__ import annotations

import time

import numpy as np

from aegis.candidates.clusters.anonymizer import (
    Diagnosis,
    Finished,
    Microaggregation,
    Publication,
    check_feasible,
    check_parameters,
    publish,
)
from aegis.candidates.clusters.arrays import Ints
from aegis.candidates.clusters.budget import Budget
from aegis.candidates.clusters.information_loss import CENTROIDS, SCALES, Centroid, Scale, divisors, total_deviation
from aegis.candidates.clusters.lower_bound import lower_bound, nearest_bound
from aegis.candidates.clusters.optimise import Search
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.risk import class_entropies_bits, entropy_ceiling_bits, sum_of_minima_bits
from aegis.errors import AnonymizerError
from aegis.progress import Progress

_QUICK_SHARE = 0.1  # of the time, for the first bound
MIXES_PER_ROUND = 10  # a try of the entropy stage costs a fraction of a round of the search


class MOOBAM(Microaggregation):
    """Microaggregation by search, within a time budget, never below k and l.

    ``classes`` fixes the number of classes; None lets the search choose, which is as many as k and l allow.
    ``trade_off`` is the paper's λ: 0 cares for loss only. ``seconds`` bounds the whole fit, the bound included;
    ``rounds`` counts search steps instead, so that equal seeds give equal results on any machine. Ctrl-C during the
    search ends it with the best valid partition found.

    >>> records = Records.from_arrays(numeric=[1.0, 2.0, 10.0, 11.0, 12.0])
    >>> fitted = MOOBAM(k=2, rounds=50).fit(records)
    >>> fitted.labels_.tolist(), round(fitted.result_.information_loss, 4)
    ([0, 0, 1, 1, 1], 0.0226)
    """

    def __init__(
        self,
        *,
        k: int,
        l: int = 1,  # noqa: E741 - l as in l-diversity
        classes: int | None = None,
        trade_off: float = 0.0,
        minimum_of_sums: bool = False,
        scale: Scale = "raw",
        centroid: Centroid = "mean",
        seconds: float = 20.0,
        rounds: int | None = None,
        bound_share: float = 0.25,
        random_state: int = 0,
    ) -> None:
        check_parameters(k=k, l=l, classes=classes)
        if not 0 <= trade_off <= 1:
            raise AnonymizerError(f"the trade-off must lie between 0 and 1, not at {trade_off}")
        if seconds < 0 or not 0 <= bound_share < 1:
            raise AnonymizerError("seconds must not be negative, and the share spent on the bound lies in [0, 1)")
        if scale not in SCALES or centroid not in CENTROIDS:
            raise AnonymizerError("the scale is 'raw' or 'standardised', the centroid 'mean', 'rounded' or 'medoid'")
        self.k = k
        self.l = l
        self.classes = classes
        self.trade_off = trade_off
        self.minimum_of_sums = minimum_of_sums
        self.scale = scale
        self.centroid = centroid
        self.seconds = seconds
        self.rounds = rounds
        self.bound_share = bound_share
        self.random_state = random_state

    def _publication(self, records: Records, progress: Progress | None) -> Publication:
        began = time.perf_counter()
        tuples = collapse(records)
        reserve = 5 * (time.perf_counter() - began)  # checking the published table groups rows as often again
        check_feasible(records, tuples, k=self.k, l=self.l, classes=self.classes)
        total = total_deviation(records, scale=self.scale) or 1.0
        left = self.seconds - reserve - (time.perf_counter() - began)
        # where rounds are counted the answer must not depend on how quick the machine is
        deadline = None if self.rounds is not None else time.monotonic() + max(left, 0.0)
        if progress is not None:
            progress(0, 100, f"{len(tuples):,} tuples: a first partition")
        quick = nearest_bound(
            tuples,
            divisors(records, scale=self.scale),
            k=self.k,
            most_classes=self.classes,
            deadline=None if deadline is None else time.monotonic() + _QUICK_SHARE * max(left, 0.0),
        )
        spoke = -1.0

        def report(stage: str, labels: Ints, deviation: float, fraction: float, rounds: int) -> None:
            nonlocal spoke
            now = time.perf_counter() - began
            if progress is None or now - spoke < 0.1:
                return
            spoke = now
            bits = sum_of_minima_bits(class_entropies_bits(labels, records.sensitive))
            bound = f", bound {quick / total:.5f}" if quick > 0 else ""
            message = f"{stage}: loss {deviation / total:.5f}{bound}, entropy {bits:.3f} after {rounds} rounds"
            progress(round(100 * min(fraction, 1.0)), 100, message)

        search = Search(
            records=records,
            tuples=tuples,
            k=self.k,
            l=self.l,
            classes=self.classes,
            scale=self.scale,
            rng=np.random.default_rng(self.random_state),
            report=report,
            deadline=deadline,
        )
        search.start()
        finished: Finished = "time" if self.rounds is None else "rounds"
        stages = ["start"]
        best = search.deviation
        mixes = self.trade_off > 0 and bool(records.sensitive_names)
        try:
            left = max(0.0, self.seconds - reserve - (time.perf_counter() - began)) * (1 - self.bound_share)
            share = 0.5 if mixes else 1.0
            counted = None if self.rounds is None else int(self.rounds * share)
            stages.append("search")
            search.improve(Budget(seconds=left * share, rounds=counted))
            best = search.deviation
            if mixes:
                stages.append("entropy")
                search.mix(
                    Budget(seconds=left * (1 - share), rounds=None if counted is None else MIXES_PER_ROUND * counted),
                    trade_off=self.trade_off,
                    ceiling_bits=entropy_ceiling_bits(records.sensitive) or 1.0,
                    minimum_of_sums=self.minimum_of_sums,
                )
                best = search.deviation
        except KeyboardInterrupt:
            finished = "interrupted"
            best = min(best, search.deviation)
        self.class_price_ = search.class_price  # what one more class would save, as summed deviation
        labels = search.labels
        assert labels is not None
        if self.classes is not None and int(labels.max()) + 1 != self.classes and finished != "interrupted":
            raise AnonymizerError(
                f"no partition into {self.classes} classes with k = {self.k} and l = {self.l} was found; "
                f"the nearest has {int(labels.max()) + 1}: ask for that many, or give more time"
            )
        bound_seconds = 0.0
        if self.rounds is None and self.bound_share > 0 and finished != "interrupted":
            bound_seconds = max(0.0, self.seconds - reserve - (time.perf_counter() - began))
        try:
            bound = lower_bound(
                records,
                labels,
                k=self.k,
                classes=self.classes,
                scale=self.scale,
                class_price=search.class_price,
                seconds=bound_seconds,
                known=quick / total,
            )
        except KeyboardInterrupt:
            finished, bound = "interrupted", quick / total
        return publish(
            records,
            labels,
            method="mo-obam",
            k=self.k,
            l=self.l,
            centroid=self.centroid,
            scale=self.scale,
            lower_bound=bound,
            seconds=time.perf_counter() - began,
            diagnosis=Diagnosis(
                finished=finished,
                rounds=search.rounds,
                start_loss=search.start_deviation / total,
                best_loss=best / total,
                stages=tuple(stages),
            ),
            trade_off=self.trade_off if mixes else 0.0,
            minimum_of_sums=self.minimum_of_sums,
        )
