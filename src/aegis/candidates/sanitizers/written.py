"""What was drawn for a table, measured before anybody gets it: as every adversary would, and who holds both files.

Columns that tell a private one although nobody was said to know them are named (`proxies`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats, Ints
from aegis.candidates.sanitizers.attackers import View, bits
from aegis.candidates.sanitizers.audited_column import CERTAIN_CAP, Fitted, refuse_certain_parts
from aegis.candidates.sanitizers.encoding import Columns, Encoder
from aegis.candidates.sanitizers.mechanism import (
    CategoryMechanism,
    Mechanism,
    NumberMechanism,
    as_side,
    release_matrix,
    true_values,
)
from aegis.candidates.sanitizers.posterior import (
    EPSILON_SHARES,
    certain_parts,
    certainty,
    fit_category_belief,
    fit_number_belief,
    share_above,
)
from aegis.errors import VerificationError

_BINS = 40
_LEVELS = 200
_MOST = 5
_REMOVED = 0.1  # of the error: a column that removes less is not named
_ROWS = 20_000
_WRITTEN_ROWS = 4_000  # of what was written, on which posteriors are computed; equal values are looked for in all


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A column, and the error of guessing the private value from it alone; ``error_without`` is that from nothing."""

    column: str
    error: float
    error_without: float


def proxies(
    truth: Floats, others: Columns, *, category: bool, log: bool = False, rng: np.random.Generator
) -> tuple[Proxy, ...]:
    """The columns that tell most about the private one, each alone, measured on rows that no guess was made from.

    ``truth`` are numbers, or codes of a category, whose errors are counted in bits with ``log``. A column that removes
    less than a tenth of the error is not named.
    """
    order = rng.permutation(len(truth))[:_ROWS]
    x, half = truth[order], len(order) // 2
    cells = np.zeros(len(order), dtype=np.int64)
    without = _error(x, cells, half, category=category, log=log)
    named = []
    for name, values in others.items():
        error = _error(x, _coded(values[order], half), half, category=category, log=log)
        if error < (1 - _REMOVED) * without:
            named.append(Proxy(column=name, error=error, error_without=without))
    return tuple(sorted(named, key=lambda proxy: proxy.error)[:_MOST])


def _coded(values: NDArray[Any], half: int) -> Ints:
    if values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
        finite = numbers[:half][np.isfinite(numbers[:half])]
        cuts = np.unique(np.quantile(finite, np.arange(1, _BINS) / _BINS)) if finite.size else np.zeros(0)
        return np.where(np.isfinite(numbers), np.searchsorted(cuts, numbers, side="right") + 1, 0)
    text = values.astype(str)
    levels, counts = np.unique(text[:half], return_counts=True)
    common = np.sort(levels[np.argsort(-counts, kind="stable")[:_LEVELS]])
    place = np.clip(np.searchsorted(common, text), 0, common.size - 1)
    return np.where(common[place] == text, place + 1, 0)


def _error(x: Floats, cells: Ints, half: int, *, category: bool, log: bool) -> float:
    """The error on the second half of guessing by the cell: its mean, its commonest code, or (``log``) its shares."""
    count = int(cells.max()) + 1
    first, second = slice(0, half), slice(half, None)
    if category:
        codes = x.astype(np.int64)
        table = np.zeros((count, int(codes.max()) + 1))
        np.add.at(table, (cells[first], codes[first]), 1.0)
        if log:
            common = (table.sum(axis=0) + 0.5) / (table.sum() + 0.5 * table.shape[1])
            stated = (table + common) / (table.sum(axis=1, keepdims=True) + 1.0)
            return float(bits(stated[cells[second]], codes[second]).mean())
        guess = (table + 1e-3 * table.sum(axis=0)).argmax(axis=1)
        return float((guess[cells[second]] != codes[second]).mean())
    records = np.bincount(cells[first], minlength=count) + 1.0
    mean = (np.bincount(cells[first], weights=x[first], minlength=count) + x[first].mean()) / records
    return float(((mean[cells[second]] - x[second]) ** 2).mean())


def both_files_loss(
    mechanism: Mechanism,
    truth: Floats,
    release: Floats,
    columns: Columns,
    *,
    cost: Floats | None,
    log: bool = False,
    rows: Ints,
) -> float:
    """The error of whoever holds the public file and the authorised party's, and knows the mechanism."""
    some = {name: values[rows] for name, values in columns.items()}
    side = Encoder.fit(some, party="holder of both files").matrix(some, rows=len(rows))
    x, shown, half = truth[rows], release[rows], len(rows) // 2
    if isinstance(mechanism, CategoryMechanism):
        codes = x.astype(np.int64)
        size = len(mechanism.values)
        belief = fit_category_belief(side[:half], codes[:half], size=size, quick=True, cost=cost, log=log)
        return float(belief.losses(mechanism, View(release=shown[half:], side=side[half:]), codes[half:]).mean())
    belief = fit_number_belief(side[:half], x[:half], column=truth, quick=True).thinned(2_000)
    guess = belief.guess(mechanism, View(release=shown[half:], side=side[half:]))
    return float(((x[half:] - guess) ** 2).mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What the values that were drawn for the table give away: equal ones, and those determined for any adversary.

    ``both_files_loss`` is the error of whoever holds the public file *and* every authorised one; ``proxies`` are
    columns that the public file does not hold and that tell the private one by themselves. ``above_cap`` is the share
    of records that the release lifts above the cap on posteriors for an adversary that makes a model of its columns,
    and ``highest`` how high; what is proved is the cap for shares counted in cells. None without such a cap.
    """

    column: str
    equal: float
    determined: float
    both_files_loss: float
    proxies: tuple[Proxy, ...] = ()
    above_cap: float | None = None
    highest: float | None = None

    @property
    def beyond_cap(self) -> str:
        """That the cap on posteriors does not hold for a model's beliefs, in a sentence; nothing where it does."""
        if not self.above_cap:
            return ""
        share = f"{100 * self.above_cap:.1f} %" if self.above_cap >= 0.001 else "fewer than 0.1 %"
        highest = "" if self.highest is None else f", up to {self.highest:.3g}"
        return (
            f"for {share} of the records an adversary that makes a model of its columns comes to believe a value with "
            f"more than the cap on posteriors{highest}; the cap is about shares counted in cells of what it knows"
        )


def check_written(
    fitted: Sequence[Fitted],
    columns: Columns,
    releases: Mapping[str, Columns],
    *,
    public: Sequence[str] = (),
    others: Columns | None = None,
    rng: np.random.Generator,
) -> tuple[Written, ...]:
    """Measure what was drawn for the table, as every adversary would; too much of it raises, and nothing is written.

    ``columns`` holds all columns that a party knows by name, ``releases`` for each private column what its mechanism
    gave, ``public`` the columns of the public file, ``others`` the columns that are looked at as proxies.
    """
    shown = {name: part for released in releases.values() for name, part in as_side(released).items()}
    by_column = []
    for released_column in fitted:
        mechanism, column = released_column.mechanism, released_column.mechanism.column
        truth = true_values(mechanism, columns[column])
        release = release_matrix(mechanism, releases[column])
        equal = 0.0
        if isinstance(mechanism, NumberMechanism):
            spoken = ~np.isin(release[:, 1:].argmax(axis=1), mechanism.silent)
            near = np.isclose(release[:, 0], truth, rtol=1e-12, atol=1e-9 * (float(truth.std()) or 1.0))
            equal = float((near & spoken).mean())
        rows = rng.permutation(len(truth))[:_WRITTEN_ROWS]
        epsilons = [share * float(truth.std()) for share in EPSILON_SHARES]
        sure, above = [], []
        cap = None if released_column.proof is None else released_column.proof.caps.posterior
        for party, protection in zip(released_column.adversaries, released_column.protection, strict=True):
            side = {name: (shown | dict(columns))[name][rows] for name in party.encoder.names}
            view = View(release=release[rows], side=party.encoder.matrix(side, rows=len(rows)))
            now = certainty(party.belief, mechanism, view, truth[rows], epsilons=epsilons)
            sure.append(now.certain)
            # drawing adds its own chance to what was measured at fitting
            noise = 3 * np.sqrt(max(now.certain * (1 - now.certain), 1e-4) / len(rows))
            if now.certain > max(protection.before.certain + CERTAIN_CAP, protection.after.certain) + noise:
                raise VerificationError(
                    f"the values drawn for column '{column}' determine {100 * now.certain:.1f} % of the records; "
                    "nothing is written: allow more distortion"
                )
            if cap is not None and not isinstance(mechanism, NumberMechanism):
                above.append(share_above(party.belief, mechanism, view, cap))
            refuse_certain_parts(column, certain_parts(party.belief, mechanism, view, truth[rows]), records=len(rows))
        if equal > CERTAIN_CAP:
            raise VerificationError(
                f"{100 * equal:.1f} % of the values drawn for column '{column}' equal the private ones; nothing is "
                "written: allow more distortion"
            )
        own = [name for party in released_column.authorized for name in party.encoder.names if name in columns]
        both = both_files_loss(
            mechanism,
            truth,
            release,
            {name: columns[name] for name in dict.fromkeys([*own, *public])},
            cost=released_column.authorized[0].belief.cost,
            log=released_column.loss == "log",
            rows=rows,
        )
        by_column.append(
            Written(
                column=column,
                equal=equal,
                determined=max(sure),
                above_cap=max((share for share, _ in above), default=None),
                highest=max((highest for share, highest in above if share > 0), default=None),
                # who holds the files has the reconstructors too
                both_files_loss=min(both, *(group.reconstruction.loss for group in released_column.groups)),
                proxies=proxies(
                    truth,
                    others or {},
                    category=isinstance(mechanism, CategoryMechanism),
                    log=released_column.loss == "log",
                    rng=rng,
                ),
            )
        )
    return tuple(by_column)
