"""MO-OBAM: classes that lose little and mix secrets well, with k and l kept as hard constraints.

The model is that of Wei, Benson, Agor and Capan; the search is ours. It minimises the information loss first and then,
for a trade-off above 0, the scaled sum of loss and entropy. A policy is judged inside the search: what counts is the
loss of a partition after it was made to satisfy every model. With a label, records of different labels lie apart, so
that classes which lose little keep it predictable too; that form is ours, as the paper has none.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache, partial

import numpy as np

from aegis.arrays import Ints
from aegis.candidates.clusters.anonymizer import (
    Microaggregation,
    Publication,
    check_feasible,
    check_parameters,
)
from aegis.candidates.clusters.budget import Budget, past
from aegis.candidates.clusters.class_limits import PolicyClasses, limits_of
from aegis.candidates.clusters.first_partition import sweep
from aegis.candidates.clusters.information_loss import (
    CENTROIDS,
    ROUNDING,
    SCALES,
    Centroid,
    Scale,
    centers_of,
    divisors,
    information_loss,
    total_deviation,
)
from aegis.candidates.clusters.lower_bound import lower_bound, nearest_bound
from aegis.candidates.clusters.optimise import Search
from aegis.candidates.clusters.outcome import (
    Diagnosis,
    Finished,
    class_entropies_bits,
    entropy_ceiling_bits,
    sum_of_minima_bits,
)
from aegis.candidates.clusters.records import Records, collapse
from aegis.candidates.clusters.units import place, units_of
from aegis.candidates.clusters.weighed_label import WeighedLabel
from aegis.errors import AnonymizerError
from aegis.privacy.policy import Policy
from aegis.progress import Progress

_QUICK_SHARE = 0.1  # of the time, for the first bound
_SECONDS_BETWEEN_WORDS = 0.1
_STARTS_SHARE = 0.25  # of the time, for first partitions into larger classes
_STARTS_IN_VAIN = 3  # so many of them in a row that are no better end it
MIXES_PER_ROUND, MIXES_AT_ONCE = 10, 2500  # a try of the entropy stage costs a fraction of a round of the search


class MOOBAM(Microaggregation):
    """Microaggregation by search, within a time budget, never below k and l.

    ``classes`` fixes the number of classes; None lets the search choose, which is as many as k and l allow.
    ``trade_off`` is the paper's λ: 0 cares for loss only. ``seconds`` bounds the whole fit, the bound included;
    ``rounds`` counts search steps instead, so that equal seeds give equal results on any machine. Ctrl-C during the
    search ends it with the best valid partition found. ``policy`` asks for any models beside k and l. ``label_weight``
    is what the deviation of the label ``y`` counts against that of all quasi-identifiers together, 0 to forget it.

    >>> records = Records.from_arrays(numeric=[1.0, 2.0, 10.0, 11.0, 12.0])
    >>> fitted = MOOBAM(k=2, rounds=50).fit(records)
    >>> fitted.labels_.tolist(), round(fitted.result_.information_loss, 4)
    ([0, 0, 1, 1, 1], 0.0226)
    """

    def __init__(
        self,
        *,
        k: int | None = None,
        l: int = 1,
        classes: int | None = None,
        trade_off: float = 0.0,
        minimum_of_sums: bool = False,
        scale: Scale = "raw",
        centroid: Centroid = "mean",
        seconds: float = 20.0,
        rounds: int | None = None,
        bound_share: float = 0.25,
        policy: Policy | None = None,
        label_weight: float = 0.0,
        random_state: int = 0,
    ) -> None:
        if k is None and policy is None:
            raise AnonymizerError("how many records a class needs is not said; give k, or a policy")
        if policy is not None and (l > 1 or classes is not None):
            raise AnonymizerError("a policy says itself what classes need, and joins them; leave l and classes out")
        if not 0 <= label_weight < np.inf:
            raise AnonymizerError("the weight of the label must not be negative")
        check_parameters(k=1 if k is None else k, l=l, classes=classes)
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
        self.policy = policy
        self.label_weight = label_weight
        self.random_state = random_state

    def _publication(self, records: Records, progress: Progress | None) -> Publication:
        if self.rounds is None:  # a limit of seconds is for the search: a first compilation takes a minute
            if progress is not None:
                progress(0, 100, "loading the compiled loops, which this machine keeps for the next time")
            load_loops()
        began = time.perf_counter()
        judge = None if self.policy is None else PolicyClasses(records, self.policy, scale=self.scale)
        percent, spoke = 0, -1.0

        def say(what: str) -> None:
            nonlocal spoke
            now = time.perf_counter() - began
            if progress is not None and now - spoke >= _SECONDS_BETWEEN_WORDS:
                spoke = now
                progress(percent, 100, f"{len(tuples):,} tuples: {what}")

        admit = None if judge is None else partial(judge.joined, say=say)
        limits = limits_of(records, self.policy)
        if admit is not None and limits.records > len(records):
            admit(np.zeros(len(records), dtype=np.int64))  # says that not even one class of all records satisfies it
        k = max(self.k or 1, limits.records)
        label = None
        near = records
        if self.label_weight:
            label = WeighedLabel.of(self._label, records, scale=self.scale, weight=self.label_weight)
            near = label.beside(records, scale=self.scale)
        tuples = collapse(near)
        reserve = 5 * (time.perf_counter() - began)  # checking the published table groups rows as often again
        check_feasible(records, tuples, k=k, l=self.l, classes=self.classes)
        total = total_deviation(records, scale=self.scale) or 1.0
        left = self.seconds - reserve - (time.perf_counter() - began)
        # where rounds are counted the answer must not depend on how quick the machine is
        deadline = None if self.rounds is not None else time.monotonic() + max(left, 0.0)
        if progress is not None:
            progress(0, 100, f"{len(tuples):,} tuples: a first partition")
        deadline_of_bound = None if deadline is None else time.monotonic() + _QUICK_SHARE * max(left, 0.0)
        quick = nearest_bound(
            collapse(records) if label is not None else tuples,
            divisors(records, scale=self.scale),
            k=k,
            most_classes=self.classes,
            deadline=deadline_of_bound,
        )

        weighed = 0.0  # a bound on the loss with the label's term
        if label is not None and self.trade_off:
            weighed = nearest_bound(
                tuples, divisors(near, scale="raw"), k=k, most_classes=self.classes, deadline=deadline_of_bound
            )

        def report(stage: str, labels: Ints, deviation: float, fraction: float, rounds: int) -> None:
            nonlocal percent, spoke
            now = time.perf_counter() - began
            if progress is None or now - spoke < _SECONDS_BETWEEN_WORDS:
                return
            spoke = now
            bits = sum_of_minima_bits(class_entropies_bits(labels, records.sensitive))
            bound = f", bound {quick / total:.5f}" if quick > 0 else ""
            if label is not None:
                deviation = total * information_loss(
                    records, centers_of(records, labels).rows(labels), scale=self.scale
                )
            message = f"{stage}: loss {deviation / total:.5f}{bound}, entropy {bits:.3f} after {rounds} rounds"
            percent = round(100 * min(fraction, 1.0))
            progress(percent, 100, message)

        def started(least: int) -> Search:
            search = Search(
                records=near,
                tuples=tuples,
                k=least,
                l=self.l,
                classes=self.classes,
                scale=self.scale if label is None else "raw",
                rng=np.random.default_rng(self.random_state),
                report=report,
                admit=admit,
                limits=limits,
                say=say,
                deadline=deadline,
            )
            search.start()
            return search

        search = started(k)
        larger, in_vain = 2 * k, 0
        starts_until = None if deadline is None else time.monotonic() + _STARTS_SHARE * max(left, 0.0)
        while admit is not None and larger <= len(records) // 2 and not past(starts_until):
            # larger classes satisfy most models sooner: what is joined least loses least
            if in_vain == _STARTS_IN_VAIN:
                break
            other = started(larger)
            in_vain = 0 if other.deviation < search.deviation else in_vain + 1
            search = search if in_vain else other
            larger *= 2
        search.k = k  # every class keeps its bounds from here on, whatever its size
        solved = search.every is not None
        finished: Finished = "done" if solved else "time" if self.rounds is None else "rounds"
        stages = ["every partition"] if solved else ["start", "search"]
        best = search.deviation
        mixes = self.trade_off > 0 and bool(records.sensitive_names)
        try:
            left = max(0.0, self.seconds - reserve - (time.perf_counter() - began)) * (1 - self.bound_share)
            share = 0.5 if mixes else 1.0
            counted = None if self.rounds is None else int(self.rounds * share)
            search.improve(Budget(seconds=left * share, rounds=counted))
            best = search.deviation
            if mixes:
                stages += [] if solved else ["entropy"]
                search.mix(
                    Budget(
                        seconds=left * (1 - share),
                        rounds=None if counted is None else MIXES_PER_ROUND * counted,
                        most_at_once=MIXES_AT_ONCE,
                    ),
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
                f"no partition into {self.classes} classes with k = {k} and l = {self.l} was found; "
                f"the nearest has {int(labels.max()) + 1}: ask for that many, or give more time"
            )
        if solved:  # what loses least is known
            quick, weighed = (best * (1 - ROUNDING), 0.0) if label is None else (quick, best)
        bound_seconds = 0.0
        if self.rounds is None and not solved and self.bound_share > 0 and finished != "interrupted":
            bound_seconds = max(0.0, self.seconds - reserve - (time.perf_counter() - began))
        say("how far the best partition may still be from this one")
        try:
            bound = lower_bound(
                records,
                labels,
                k=k,
                classes=self.classes,
                scale=self.scale,
                class_price=search.class_price if label is None else 0.0,
                seconds=bound_seconds,
                known=quick / total,
            )
        except KeyboardInterrupt:
            finished, bound = "interrupted", quick / total
        say("the table of classes, checked")
        published = self._published(
            records,
            labels,
            method="mo-obam",
            k=k,
            l=self.l,
            began=began,
            diagnosis=Diagnosis(
                finished=finished,
                rounds=search.rounds,
                start_loss=search.start_deviation / total,
                best_loss=best / total,
                stages=tuple(stages),
            ),
            admit=admit,
            lower_bound=bound,
            trade_off=self.trade_off if mixes else 0.0,
            minimum_of_sums=self.minimum_of_sums,
        )
        if label is None:
            return published
        label_loss = label.deviation(published.labels) / total
        return replace(
            published,
            result=replace(
                published.result, label_loss=label_loss, weighed_bound=weighed * (1 - ROUNDING) / total or None
            ),
        )


@cache
def load_loops() -> None:
    """Compile the loops of all stages, or load what this machine keeps of them: a fit of forty made-up records does."""
    places = np.arange(40)
    records = Records.from_arrays(
        numeric=places * 7.0 % 13, categorical=(places % 3)[:, None], sensitive=(places % 2)[:, None]
    )
    for classes in (None, 6):
        tiny = MOOBAM(k=3, l=2, classes=classes, trade_off=0.5, rounds=3, random_state=0)
        labels = tiny._publication(records, None).labels
        lower_bound(records, labels, k=3, classes=classes, seconds=0.1, known=0.0)
    units = units_of(records, collapse(records), scale="raw", whole_tuples=False)
    # only a table that is divided from above is swept, which takes thousands of tuples
    sweep(units, place(units, labels, capacity=int(labels.max()) + 1), k=3, l=2, most=1)
