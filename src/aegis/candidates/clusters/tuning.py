"""Which number of classes, trade-off and k: a grid with the paper's ranges, a search beside it, a front and an advice.

The paper's rules: at most a fifth of the unique tuples as classes; k between 2 and records per class; trade-offs from
0.0001 to 1 by factors of ten, the higher ones first where a secret is binary, since those are the easiest to guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aegis.candidates.clusters.methods import ANONYMIZERS, check_tunable
from aegis.candidates.clusters.outcome import Anonymized, Risk
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

    def to_json(self) -> dict[str, Any]:
        """The setting with its figures, or with the reason it was refused.

        The risk before is the same for all settings, and left out.
        """
        setting = {"classes": self.setting.classes, "lambda": self.setting.trade_off, "k": self.setting.k}
        if self.result is None:
            return {**setting, "refusal": self.refusal}
        figures = self.result.to_json()
        del figures["before"]
        return {**figures, "classes_formed": self.result.classes, **setting}

    @classmethod
    def from_json(cls, content: Mapping[str, Any], *, before: Risk) -> Trial:
        """The trial that `to_json` wrote, with the risk that all settings began from."""
        setting = Setting(classes=content["classes"], trade_off=content["lambda"], k=content["k"])
        if "refusal" in content:
            return cls(setting=setting, result=None, refusal=content["refusal"])
        figures = {**content, "classes": content["classes_formed"], "before": before.to_json()}
        return cls(setting=setting, result=Anonymized.from_json(figures))

    @property
    def known(self) -> Anonymized:
        """The result, for a trial that has one."""
        if self.result is None:
            raise AnonymizerError("this setting was refused and has no result")
        return self.result


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """How every setting of one tuning is tried: the method and what all settings share.

    With ``rounds`` instead of seconds equal seeds give equal trials.
    """

    method: str = "mo-obam"
    l: int = 1
    seconds: float = 2.0
    rounds: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_tunable(self.method)

    def trial(self, records: Records, setting: Setting) -> Trial:
        """Fit one setting; what is infeasible comes back as a refusal, so that the others go on."""
        method = ANONYMIZERS[self.method]
        options = {"seconds": self.seconds, "rounds": self.rounds, "bound_share": 0.0}
        try:
            anonymizer = method.anonymizer(
                k=setting.k,
                seed=self.seed,
                l=self.l,
                classes=setting.classes,
                trade_off=setting.trade_off,
                **{option: value for option, value in options.items() if option in method.uses},
            )
            return Trial(setting=setting, result=anonymizer.fit(records).result_)
        except AnonymizerError as error:
            return Trial(setting=setting, result=None, refusal=str(error))


def search_classes(
    records: Records, attempts: Attempts, *, k: int, trade_offs: Sequence[float], most_homogeneous: int = 0
) -> Iterator[Trial]:
    """Halve the range of classes for one k: the most classes that keep homogeneity within a limit.

    More classes lose less and protect less, so the interesting number is where protection begins to fail; it is
    found in about log₂ trials, and the trade-offs are then tried there only. A trial that Ctrl-C cut short ends the
    search with that interruption: it would be compared with finished ones.
    """
    low, high = 1, min(len(collapse(records)), len(records) // k)
    tried: set[Setting] = set()
    while high - low > low // 20:  # a twentieth of the classes makes no difference
        middle = (low + high + 1) // 2
        trial = _whole(attempts.trial(records, Setting(classes=middle, trade_off=trade_offs[0], k=k)))
        tried.add(trial.setting)
        yield trial
        if trial.result is not None and trial.result.after.homogeneity <= most_homogeneous:
            low = middle
        else:
            high = middle - 1
    for trade_off in trade_offs:
        setting = Setting(classes=low, trade_off=trade_off, k=k)
        if setting not in tried:
            yield _whole(attempts.trial(records, setting))


def _whole(trial: Trial) -> Trial:
    if trial.result is not None and trial.result.diagnosis.finished == "interrupted":
        raise KeyboardInterrupt
    return trial


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
