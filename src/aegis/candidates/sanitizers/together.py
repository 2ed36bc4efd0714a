"""Several private columns in one table, each told to the authorised party, each hidden from the adversaries.

Columns are fitted one after the other, and the parties of each see the releases before it. Then every column is
audited once more with all releases in sight: what is reported is the smaller loss, the larger certainty. What is
finally drawn for the table is measured as well, before anybody gets it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Floats
from aegis.candidates.sanitizers import attackers
from aegis.candidates.sanitizers.attackers import View, with_flags
from aegis.candidates.sanitizers.audit import PartyAudit
from aegis.candidates.sanitizers.audited_column import Fitted
from aegis.candidates.sanitizers.caps import Caps
from aegis.candidates.sanitizers.determined import CERTAIN_CAP, refuse_certain, refuse_certain_parts
from aegis.candidates.sanitizers.encoding import Encoder
from aegis.candidates.sanitizers.evaluator import Drawn, Evaluator
from aegis.candidates.sanitizers.fitting import Columns, fit
from aegis.candidates.sanitizers.mechanism import (
    BinMechanism,
    CategoryMechanism,
    Mechanism,
    NumberMechanism,
    numbers,
)
from aegis.candidates.sanitizers.number_column import Family
from aegis.candidates.sanitizers.posterior import (
    EPSILON_SHARES,
    Certainty,
    certain_parts,
    certainty,
    share_above,
)
from aegis.candidates.sanitizers.proxies import Proxy, both_files_loss, proxies
from aegis.candidates.sanitizers.split import Split, Training
from aegis.candidates.sanitizers.symbol_column import symbol_matrix
from aegis.errors import SanitizerError, VerificationError
from aegis.progress import Progress

_WRITTEN_ROWS = 4_000  # of what was written, on which posteriors are computed; equal values are looked for in all


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


def fit_together(
    private: Columns,
    *,
    authorized: Columns,
    adversaries: Sequence[Columns],
    distortions: Mapping[str, float],
    also: Sequence[tuple[Columns, Mapping[str, float]]] = (),
    family: Family = "capped",
    caps: Caps | None = None,
    costs: Mapping[str, Floats] | None = None,
    log: bool = False,
    parts: Mapping[str, Sequence[str]] | None = None,
    training: Training | None = None,
    names: Sequence[str] | None = None,
    rng: np.random.Generator,
    progress: Progress | None = None,
    quick: bool = False,
) -> tuple[Fitted, ...]:
    """A mechanism for each private column, audited against parties that see every release.

    ``distortions`` holds what the authorised party may have for each column; with all releases in sight it has at most
    that. ``also`` are further authorised groups, what each knows and what it may have for each column. ``costs`` and
    ``parts`` are those of columns that are tuples, ``log`` counts errors on categories in bits (logarithmic
    loss). A single column is simply fitted.
    """
    if not private:
        raise SanitizerError("name at least one private column")
    groups = [authorized, *(columns for columns, _ in also)]
    for column in private:
        if any(column in side for side in (*groups, *adversaries)):
            raise SanitizerError(f"column '{column}' is private and cannot be side information")
    for number, side in enumerate(adversaries, start=1):
        if any(group and set(group) <= set(side) for group in groups):
            raise SanitizerError(
                f"adversary {number} knows every column of the authorised party: whatever one can tell from the "
                "release, so can the other; give the authorised party a column of its own"
            )
    fits: list[Fitted] = []
    seen: dict[str, NDArray[Any]] = {}
    steps = len(private) + (len(private) > 1)
    for number, (column, values) in enumerate(private.items()):
        if progress is not None:
            progress(number, steps, f"fitting {column}")
        fitted = fit(
            values,
            column=column,
            authorized={**authorized, **seen},
            adversaries=[{**side, **seen} for side in adversaries],
            distortion=distortions[column],
            also=[({**columns, **seen}, allowed[column]) for columns, allowed in also],
            family=family,
            caps=caps,
            cost=(costs or {}).get(column),
            log=log,
            parts=(parts or {}).get(column, ()),
            training=training,
            names=names,
            rng=rng,
            quick=quick,
        )
        fits.append(fitted)
        seen |= as_side(fitted.mechanism.apply(values, rng=rng))
    if len(fits) == 1:
        return tuple(fits)
    if progress is not None:
        progress(steps - 1, steps, "auditing together")
    return audited_together(fits, private, parties=(*groups, *adversaries), names=names, rng=rng, quick=quick)


def audited_together(
    fitted: Sequence[Fitted],
    private: Columns,
    *,
    parties: Sequence[Columns],
    names: Sequence[str] | None,
    rng: np.random.Generator,
    quick: bool = False,
) -> tuple[Fitted, ...]:
    """Mechanisms of several columns before ``parties`` (authorised groups first) that see every release.

    Raises where all releases together determine more records of a column than the cap allows.
    """
    releases = {f.mechanism.column: f.mechanism.apply(private[f.mechanism.column], rng=rng) for f in fitted}
    return tuple(_audited(f, private, releases, parties, names, rng, quick=quick) for f in fitted)


def _audited(
    fitted: Fitted,
    private: Columns,
    releases: Mapping[str, Columns],
    parties: Sequence[Columns],
    names: Sequence[str] | None,
    rng: np.random.Generator,
    *,
    quick: bool,
) -> Fitted:
    """The same mechanism before parties that see the releases of the other columns too."""
    column, mechanism = fitted.mechanism.column, fitted.mechanism
    values = private[column]
    others = {
        name: part
        for other, released in releases.items()
        if other != column
        for name, part in as_side(released).items()
    }
    order = rng.permutation(len(values))
    seeing = [{**side, **others} for side in parties]
    sides = [Encoder.fit(side, party="a").matrix(side, rows=len(values))[order] for side in seeing]
    split = Split(
        column=column,
        sides=sides,
        names=attackers.available() if names is None else tuple(names),
        rng=rng,
        quick=quick,
        distortions=tuple(group.distortion for group in fitted.groups),
        log=fitted.loss == "log",
    )
    truth = true_values(mechanism, values)[order]
    codes = None
    if isinstance(mechanism, CategoryMechanism):
        codes = truth.astype(np.int64)
        evaluator = Evaluator.of_category(split, codes, size=len(mechanism.values))
    else:
        evaluator = Evaluator.of_number(split, truth)
    drawn = Drawn(mechanism, release_matrix(mechanism, releases[column])[order])
    protection = tuple(
        replace(by_itself, after=_worse(now, by_itself.after))
        for now, by_itself in zip(evaluator.certainties(drawn), fitted.protection, strict=True)
    )
    refuse_certain(
        column,
        [party.before for party in protection],
        [party.after for party in protection],
        codes=None if codes is None else codes[split.measured],
    )
    report = evaluator.audited(drawn)
    alone = fitted.audit
    report = replace(
        report,
        distortion=_better(report.distortion, alone.distortion),
        adversaries=tuple(map(_better, report.adversaries, alone.adversaries)),
        exposure=replace(
            max(report.exposure, alone.exposure, key=lambda exposure: exposure.pinned_share),
            reference_pinned_share=alone.exposure.reference_pinned_share,
        ),
    )
    return replace(fitted, audit=report, protection=protection, method=f"{fitted.method}, together")


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


def as_side(released: Columns) -> dict[str, NDArray[Any]]:
    """A release as columns that others see; which component was drawn is a name, not a number."""
    return {name: part if part.dtype.kind == "f" else part.astype(str) for name, part in released.items()}


def release_matrix(mechanism: Mechanism, released: Columns) -> Floats:
    """A release as numbers: the code of a symbol, or a value with one flag for each component."""
    first = released[mechanism.released_columns[0]]
    if isinstance(mechanism, CategoryMechanism | BinMechanism):
        return symbol_matrix(mechanism, np.array([int(str(symbol)[1:]) for symbol in first]))
    component = np.zeros(len(first), dtype=np.int64)
    if len(mechanism.released_columns) > 1:
        component = released[mechanism.released_columns[1]].astype(np.int64)
    return with_flags(np.nan_to_num(first.astype(np.float64)), component, len(mechanism.mixture.weights))


def true_values(mechanism: Mechanism, values: NDArray[Any]) -> Floats:
    """The private values as numbers: themselves, or the codes of categories."""
    if not isinstance(mechanism, CategoryMechanism):
        return numbers(values, mechanism.column)
    return np.searchsorted(np.array(mechanism.values), values.astype(str)).astype(np.float64)


def _better(first: PartyAudit, other: PartyAudit) -> PartyAudit:
    return min(first, other, key=lambda party: party.loss)


def _worse(first: Certainty, other: Certainty) -> Certainty:
    """The more that either of two says of single records."""
    return Certainty(
        certain=max(first.certain, other.certain),
        by_value=tuple(max(pair) for pair in zip(first.by_value, other.by_value, strict=True)),
        epsilons=first.epsilons,
        pinned=tuple(max(pair) for pair in zip(first.pinned, other.pinned, strict=True)),
        loss=min(first.loss, other.loss),
    )
