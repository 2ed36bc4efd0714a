"""What can be proved about a release that is a table of probabilities, under which assumption.

Three things, from strongest to weakest. *Whatever* an adversary knows: with probability ``kept_share`` the symbol is
drawn without looking at the value, so its loss is at least that share of its loss without the release; and the ratio of
any two rows of the table is the local differential privacy, exactly. *For every law in the confidence set*: posteriors
and leakage of an adversary that sees a cell and the symbol. *With the stated confidence*: a lower bound on the loss of
such an adversary. The last one needs no union over attacks: the smallest loss on the rows is at most the mean loss of
the attack that is best under the true law, and that mean is a mean of bounded independent draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import brentq

from aegis.arrays import Floats
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.law import Law


@dataclass(frozen=True, slots=True, kw_only=True)
class AdversaryProof:
    """One adversary: its loss under the estimated law, and the bound below it that holds with the confidence.

    ``exact_cells`` says that its cells are all it knows (every combination of its values is one). Otherwise a cell is
    what a model makes of its columns, the bound is for adversaries that use that summary, and others are only audited.
    """

    cells: int
    exact_cells: bool
    loss: float
    proved_loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What holds for a release, and what it is worth.

    ``holds_for_set`` says that the caps hold for every law of the confidence set, and nobody need believe the estimate.
    Otherwise they hold under the estimated law, but for ``exempt_share`` of the records: there side information alone
    says about as much as the cap allows, and the release at most halves the doubt (`Caps`).

    The adversaries' loss has two sides. From below: each errs by at least its ``proved_loss``, with the confidence.
    From above: under the estimated law this release leaves the worst of them ``loss_under_law``, and no release that
    keeps the caps under that law, and tells the authorised groups no less, leaves it more than
    ``most_any_release_leaves``. A release may be found under more than the caps (every law of the set, records that
    are nearly certain, a tighter cap): what that costs is part of ``gap``.

    ``posterior``, ``leakage`` and ``local_dp`` are the largest values over the confidence set; None where there is no
    bound. ``posterior_under_law`` is the largest under the estimate. ``open_share`` is the share of records in cells
    for which some law of the set puts a posterior above the cap.
    """

    caps: Caps
    holds_for_set: bool
    confidence: float
    rows_of_set: int
    rows_of_losses: int
    loss_under_law: float
    most_any_release_leaves: float
    kept_share: float
    posterior: float | None
    leakage: float | None
    local_dp: float | None
    open_share: float
    adversaries: tuple[AdversaryProof, ...] = field(default=())
    posterior_under_law: float | None = None
    exempt_share: float = 0.0

    @property
    def gap(self) -> float:
        """The share of what any release could leave that this one does not."""
        most = self.most_any_release_leaves
        return max(0.0, 1 - self.loss_under_law / most) if most > 0 else 0.0

    @property
    def least_loss(self) -> float:
        """What every adversary errs by at least, with the confidence."""
        return min((adversary.proved_loss for adversary in self.adversaries), default=0.0)

    @property
    def where_caps_hold(self) -> str:
        """For which laws the caps hold, in a sentence that can stand alone."""
        caps = self.caps.describe()
        if self.holds_for_set:
            return f"the caps ({caps}) hold for every law that {self.rows_of_set:,} rows allow"
        posterior = "" if self.posterior is None else f", where posteriors reach up to {self.posterior:.3g}"
        exempt = (
            f", but for {100 * self.exempt_share:.1f} % of the records, of which side information alone tells nearly "
            "as much or more: there the release at most halves the doubt"
            if self.exempt_share > 0
            else ""
        )
        return (
            f"the caps ({caps}) hold only if the law is as estimated from {self.rows_of_set:,} rows{exempt}; they do "
            f"not hold for every law that these rows allow{posterior}"
        )

    @property
    def sides(self) -> tuple[str, str]:
        """What is proved of the adversaries' loss from below, and of any release from above, in words."""
        return (
            f"with {100 * self.confidence:g} % confidence every adversary errs by at least {self.least_loss:.4g}",
            f"under the estimated law the worst adversary errs by {self.loss_under_law:.4g}, and no release that "
            "keeps the caps under it and tells the authorised party no less makes it err by more than "
            f"{self.most_any_release_leaves:.4g}",
        )

    def to_json(self) -> dict[str, Any]:
        """Plain numbers, and in words what they say and rest on."""
        return {
            **asdict(self),
            "least_loss": self.least_loss,
            "in_words": [*self.sides, self.where_caps_hold],
            "assumptions": list(self.assumptions),
        }

    @staticmethod
    def fields_in(content: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of what `to_json` wrote, by their names of today: two were called otherwise before 0.2."""
        earlier = {"loss_under_law": "program_loss", "most_any_release_leaves": "bound"}
        return {**content, **{name: content[old] for name, old in earlier.items() if old in content}}

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What each proved figure rests on, in words."""
        summarised = sum(not adversary.exact_cells for adversary in self.adversaries)
        cells = (
            "an adversary sees its own columns and the release"
            if not summarised
            else f"an adversary sees the release and its cell; for {summarised} of {len(self.adversaries)} the cell is "
            "a model's summary of its columns, and what their full detail adds is only audited"
        )
        return (
            "for every adversary whatever it knows, the rows being drawn once: the share of its loss that is kept, and "
            "local differential privacy",
            f"the rows are independent draws of one law; with {100 * self.confidence:g} % confidence the law lies in "
            f"the set of Clopper–Pearson boxes that {self.rows_of_set:,} rows give: posteriors and leakage",
            f"the same, and {cells}: the proved losses",
        )


def law_free_figures(release: Floats) -> tuple[float, float | None]:
    """The share of any loss that is kept, and ε of local differential privacy (None where there is none).

    >>> law_free_figures(np.array([[0.75, 0.25], [0.25, 0.75]]))
    (0.5, 1.0986122886681098)
    """
    least, most = release.min(axis=0), release.max(axis=0)
    shown = most > 0
    epsilon = math.log(float((most[shown] / least[shown]).max())) if least[shown].min() > 0 else None
    return float(least.sum()), epsilon


def figures_over_set(law: Law, release: Floats, caps: Caps) -> tuple[float, float | None, float]:
    """The largest posterior and leakage over the law's set, and the share of records in cells where it exceeds the cap.

    Of `Law.estimate` these are the figures under the estimate.
    """
    cap = 1.0 if caps.posterior is None else caps.posterior
    posterior, leakage, open_share = 0.0, 0.0, 0.0
    least = release.min(axis=0)
    for table, low, high in zip(law.adversaries, law.lows, law.highs, strict=True):
        weight = table.sum(axis=0)
        exceeded = 0.0
        for cell in np.flatnonzero((low > 0).any(axis=0)):  # of a cell without rows nothing can be said
            above, below = high[:, cell, None] * release, low[:, cell, None] * release
            spare = np.maximum(0.0, 1 - high[:, cell] - (low[:, cell].sum() - low[:, cell]))
            others = below.sum(axis=0) - below + spare[:, None] * least
            shown = below.sum(axis=0) + max(0.0, 1 - low[:, cell].sum()) * least
            with np.errstate(divide="ignore", invalid="ignore"):
                chance = np.where(above > 0, above / (above + others), 0.0)
                ratio = np.where(release > 0, release / shown, 0.0)
            exceeded += float(weight[cell]) if chance.max() > cap + 1e-6 else 0.0
            posterior, leakage = max(posterior, float(chance.max())), max(leakage, float(ratio.max()))
        open_share = max(open_share, exceeded)
    return posterior, math.log(leakage) if math.isfinite(leakage) else None, open_share


def proved_loss(empirical: float, *, largest: float, rows: int, doubt: float) -> float:
    """Chernoff's bound below the true Bayes loss, which fails with probability at most ``doubt``.

    ``empirical`` is the Bayes loss on ``rows`` rows that had no part in making the release, ``largest`` the largest
    possible cost.

    >>> round(proved_loss(0.1, largest=1.0, rows=5000, doubt=0.05), 4)
    0.0899
    """
    share = min(1.0, empirical / largest)
    if share <= 0 or rows <= 0:
        return 0.0
    reach = math.log(1 / doubt) / rows
    if -math.log(max(share, 1e-300)) <= 0:
        return largest * math.exp(-reach)

    def excess(p: float) -> float:
        other = 0.0 if share >= 1 else (1 - share) * math.log((1 - share) / (1 - p))
        return share * math.log(share / p) + other - reach

    tiny = share * 1e-9
    return 0.0 if excess(tiny) < 0 else float(largest * brentq(excess, tiny, share))


def adversary_proofs(
    losses: Sequence[float],
    empirical: Sequence[float],
    *,
    cells: Sequence[tuple[int, bool]],
    largest: float,
    rows: int,
    doubt: float,
    slack: float = 0.0,
) -> tuple[AdversaryProof, ...]:
    """The proofs of all adversaries at once; ``doubt`` is shared among them.

    Where the loss itself has no largest value, ``largest`` is that of an attack which loses at most ``slack`` more than
    the best one: what is proved of that attack is proved of the best one, less the slack.
    """
    return tuple(
        AdversaryProof(
            cells=count,
            exact_cells=exact,
            loss=loss,
            proved_loss=max(0.0, proved_loss(seen, largest=largest, rows=rows, doubt=doubt / len(losses)) - slack),
        )
        for loss, seen, (count, exact) in zip(losses, empirical, cells, strict=True)
    )
