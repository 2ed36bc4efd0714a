"""Which number of classes, trade-off and k: a grid with the paper's ranges, a search beside it, a front and an advice.

The paper's rules: at most a fifth of the unique tuples as classes; k between 2 and records per class; trade-offs from
0.0001 to 1 by factors of ten, the higher ones first where a secret is binary, since those are the easiest to guess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass

import numpy as np

from aegis.candidates.clusters.anonymizer import Anonymized
from aegis.candidates.clusters.information_loss import Scale
from aegis.candidates.clusters.mo_obam import MOOBAM
from aegis.candidates.clusters.records import Records, collapse
from aegis.errors import AnonymizerError

PAPER_K = (5, 10, 15, 20)
PAPER_TRADE_OFFS = (0.0001, 0.001, 0.01, 0.1, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Setting:
    """One point of the grid."""

    classes: int
    trade_off: float
    k: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A setting and what came of it: a result, or the reason it was refused."""

    setting: Setting
    result: Anonymized | None
    refusal: str | None = None

    @property
    def known(self) -> Anonymized:
        """The result, for a trial that has one."""
        if self.result is None:
            raise AnonymizerError("this setting was refused and has no result")
        return self.result


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """All trials, the front of loss against entropy among them, the recommended one, and why."""

    trials: tuple[Trial, ...]
    front: tuple[Trial, ...]
    recommended: Trial
    advice: str


TrialListener = Callable[[int, int, Trial], None]  # done, of how many, the latest


def paper_classes(records: Records, *, points: int = 8) -> tuple[int, ...]:
    """Numbers of classes to try: 4, then from 10 up to a fifth of the unique tuples."""
    most = max(1, len(collapse(records)) // 5)
    steps = np.unique(np.rint(np.linspace(10, most, max(1, points - 1))).astype(int)) if most > 10 else np.array([most])
    return tuple(sorted({min(4, most), *(int(step) for step in steps)}))


def paper_trade_offs(records: Records) -> tuple[float, ...]:
    """The paper's trade-offs, without the two smallest where every sensitive attribute is binary."""
    levels = records.sensitive_levels
    if len(levels) == 0:
        return (0.0,)
    return PAPER_TRADE_OFFS[2:] if bool((levels <= 2).all()) else PAPER_TRADE_OFFS


def paper_grid(
    records: Records,
    *,
    classes: Sequence[int] | None = None,
    trade_offs: Sequence[float] | None = None,
    ks: Sequence[int] = PAPER_K,
) -> tuple[Setting, ...]:
    """Every combination that keeps the rule k ≤ records / classes."""
    return tuple(
        Setting(classes=c, trade_off=t, k=k)
        for c in (paper_classes(records) if classes is None else classes)
        for t in (paper_trade_offs(records) if trade_offs is None else trade_offs)
        for k in ks
        if k * c <= len(records)
    )


def try_setting(
    records: Records,
    setting: Setting,
    l: int,  # noqa: E741 - l as in l-diversity
    scale: Scale,
    seconds: float,
    rounds: int | None,
    seed: int,
) -> Trial:
    """Fit one setting; what is infeasible comes back as a refusal, so that the others go on."""
    try:
        method = MOOBAM(
            k=setting.k,
            l=l,
            classes=setting.classes,
            trade_off=setting.trade_off,
            scale=scale,
            seconds=seconds,
            rounds=rounds,
            bound_share=0.0,
            random_state=seed,
        )
        return Trial(setting=setting, result=method.fit(records).result_)
    except AnonymizerError as error:
        return Trial(setting=setting, result=None, refusal=str(error))


class Tuner:
    """Runs settings, in parallel if asked, and remembers every trial."""

    def __init__(
        self,
        records: Records,
        *,
        l: int = 1,  # noqa: E741 - l as in l-diversity
        scale: Scale = "raw",
        seconds: float = 2.0,
        rounds: int | None = None,
        workers: int = 1,
        random_state: int = 0,
        progress: TrialListener | None = None,
    ) -> None:
        if workers < 1:
            raise AnonymizerError("at least one worker is needed")
        self._records = records
        self._options = (l, scale, seconds, rounds, random_state)
        self._workers = workers
        self._progress = progress
        self._trials: dict[Setting, Trial] = {}

    def grid(self, settings: Sequence[Setting] | None = None) -> Tuned:
        """Try every setting of a grid, the paper's by default. Ctrl-C keeps the trials that are done."""
        chosen = tuple(paper_grid(self._records) if settings is None else settings)
        if not chosen:
            raise AnonymizerError("the grid is empty: no setting keeps k times the classes within the records")
        try:
            self._run(chosen)
        except KeyboardInterrupt:
            if not self._trials:
                raise
        return self._tuned()

    def search(
        self, *, ks: Sequence[int] = PAPER_K, trade_offs: Sequence[float] | None = None, most_homogeneous: int = 0
    ) -> Tuned:
        """For each k, halve the range of classes: the most classes that keep homogeneity within a limit.

        More classes lose less and protect less, so the interesting number is where protection begins to fail; it is
        found in about log₂ trials, and the trade-offs are then tried there only.
        """
        offs = tuple(paper_trade_offs(self._records) if trade_offs is None else trade_offs)
        most = len(collapse(self._records))
        try:
            for k in ks:
                classes = self._most_classes(k, most, offs[0], most_homogeneous)
                self._run([Setting(classes=classes, trade_off=t, k=k) for t in offs])
        except KeyboardInterrupt:
            if not self._trials:
                raise
        return self._tuned()

    def _most_classes(self, k: int, most: int, trade_off: float, most_homogeneous: int) -> int:
        low, high = 1, min(most, len(self._records) // k)
        while high - low > low // 20:  # a twentieth of the classes makes no difference
            middle = (low + high + 1) // 2
            trial = self._run([Setting(classes=middle, trade_off=trade_off, k=k)])[0]
            if trial.result is not None and trial.result.after.homogeneity <= most_homogeneous:
                low = middle
            else:
                high = middle - 1
        return low

    def _run(self, settings: Sequence[Setting]) -> list[Trial]:
        todo = [setting for setting in settings if setting not in self._trials]
        total = len(self._trials) + len(todo)
        if self._workers == 1 or len(todo) < 2:
            for setting in todo:
                trial = try_setting(self._records, setting, *self._options)
                if trial.result is not None and trial.result.diagnosis.finished == "interrupted":
                    raise KeyboardInterrupt  # an unfinished trial would be compared with finished ones
                self._book(trial, total)
        else:
            with ProcessPoolExecutor(max_workers=self._workers) as pool:
                self._collect(pool, todo, total)
        return [self._trials[setting] for setting in settings if setting in self._trials]

    def _collect(self, pool: Executor, todo: Sequence[Setting], total: int) -> None:
        waiting: list[Future[Trial]] = [
            pool.submit(try_setting, self._records, setting, *self._options) for setting in todo
        ]
        try:
            for future in as_completed(waiting):
                self._book(future.result(), total)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise

    def _book(self, trial: Trial, total: int) -> None:
        self._trials[trial.setting] = trial
        if self._progress is not None:
            self._progress(len(self._trials), total, trial)

    def _tuned(self) -> Tuned:
        trials = tuple(self._trials[setting] for setting in sorted(self._trials))
        done = tuple(trial for trial in trials if trial.result is not None)
        if not done:
            raise AnonymizerError(f"every setting was refused; the first reason: {trials[0].refusal}")
        front = pareto_front(done)
        best = recommend(front)
        return Tuned(trials=trials, front=front, recommended=best, advice=advise(best, front))


def pareto_front(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """The trials that no other beats in both loss and entropy, from the least loss up."""
    order = sorted(trials, key=lambda t: (t.known.information_loss, -t.known.entropy_sum_of_minima_bits))
    front: list[Trial] = []
    for trial in order:
        if not front or trial.known.entropy_sum_of_minima_bits > front[-1].known.entropy_sum_of_minima_bits + 1e-12:
            front.append(trial)
    return tuple(front)


def recommend(front: Sequence[Trial]) -> Trial:
    """The knee of the front among the trials that leave nobody's secret certain (or among all, if none does).

    Both axes are scaled to the front's range; the knee is nearest to the corner of least loss and most entropy.
    """
    safe = [trial for trial in front if trial.known.after.homogeneity == 0] or list(front)
    loss = np.array([trial.known.information_loss for trial in safe])
    bits = np.array([trial.known.entropy_sum_of_minima_bits for trial in safe])
    far = (loss - loss.min()) / (np.ptp(loss) or 1.0), (bits.max() - bits) / (np.ptp(bits) or 1.0)
    return safe[int(np.argmin(far[0] ** 2 + far[1] ** 2))]


def advise(best: Trial, front: Sequence[Trial]) -> str:
    """The recommendation in words."""
    result, setting = best.known, best.setting
    safe_from = 1 / result.smallest_class
    secret = (
        "nobody's sensitive value is certain"
        if result.after.homogeneity == 0
        else f"for {result.after.homogeneity} people a sensitive value is certain, so ask for l = 2 or fewer classes"
    )
    least, most = front[0].known, front[-1].known
    return (
        f"Use {setting.classes} classes with trade-off {setting.trade_off:g} and k = {setting.k}: "
        f"information loss {result.information_loss:.4f}, smallest class {result.smallest_class} "
        f"(nobody is at linkage risk for thresholds of {safe_from:.3f} and above), and {secret}. "
        f"On the front the loss runs from {least.information_loss:.4f} to {most.information_loss:.4f} while the "
        f"entropy of the worst classes rises from {least.entropy_sum_of_minima_bits:.2f} to "
        f"{most.entropy_sum_of_minima_bits:.2f} bits."
    )
