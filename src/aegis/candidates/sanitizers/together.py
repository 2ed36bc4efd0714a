"""Several private columns of one table, released together.

Columns are fitted in the order given. Everybody sees the releases of the earlier columns, so for a later column those
are side information like any other: the authorised party needs less from its own release, and the adversaries already
know what the earlier ones let slip. At the end all releases are drawn once more and each column is attacked again by
parties that see *all* of them. A party may look away from what only confuses it, so the smaller of its two losses,
with and without the later releases, is the one that is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aegis.candidates.sanitizers.attackers import View
from aegis.candidates.sanitizers.audit import AuditReport, Evidence, PartyAudit, audit
from aegis.candidates.sanitizers.encoding import encode_side
from aegis.candidates.sanitizers.fitting import Columns, Family, Fitted, accept, fit
from aegis.candidates.sanitizers.mechanism import CategoryMechanism, Mechanism, numbers
from aegis.errors import SanitizerError
from aegis.progress import Progress

Floats = NDArray[np.float64]


def fit_together(
    private: Columns,
    *,
    authorized: Columns,
    adversaries: Sequence[Columns],
    distortions: Mapping[str, float],
    family: Family = "capped",
    names: Sequence[str] | None = None,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> tuple[Fitted, ...]:
    """A mechanism for each private column, audited against parties that see every release.

    ``distortions`` holds what the authorised party may have for each column; with all releases in sight it has at most
    that. A single column is simply fitted.
    """
    if not private:
        raise SanitizerError("name at least one private column")
    for column in private:
        if any(column in side for side in (authorized, *adversaries)):
            raise SanitizerError(f"column '{column}' is private and cannot be side information")
    made: list[Fitted] = []
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
            family=family,
            names=names,
            rng=rng,
        )
        made.append(fitted)
        seen |= _as_side(fitted.mechanism, values, rng)
    if len(made) == 1:
        return tuple(made)
    if progress is not None:
        progress(steps - 1, steps, "auditing together")
    order = rng.permutation(len(next(iter(private.values()))))
    releases = {f.mechanism.column: _as_side(f.mechanism, private[f.mechanism.column], rng) for f in made}
    return tuple(
        _audited(f, private[f.mechanism.column], releases, authorized, adversaries, order, names, rng) for f in made
    )


def _audited(
    fitted: Fitted,
    values: NDArray[Any],
    releases: Mapping[str, Columns],
    authorized: Columns,
    adversaries: Sequence[Columns],
    order: NDArray[np.int64],
    names: Sequence[str] | None,
    rng: np.random.Generator,
) -> Fitted:
    column = fitted.mechanism.column
    rows = len(values)
    others = {name: given for other, columns in releases.items() if other != column for name, given in columns.items()}
    shown = _as_release(fitted.mechanism, releases[column], rows)[order]

    def evidence(side: Columns, party: str) -> Evidence:
        return Evidence(view=View(release=shown, side=encode_side({**side, **others}, rows=rows, party=party)[order]))

    category = isinstance(fitted.mechanism, CategoryMechanism)
    truth = (
        np.unique(values.astype(str), return_inverse=True)[1].astype(np.float64)
        if category
        else numbers(values, column)
    )
    report: AuditReport = audit(
        truth[order],
        evidence(authorized, "authorized"),
        [evidence(side, f"adversary {number}") for number, side in enumerate(adversaries, start=1)],
        kind="category" if category else "number",
        epsilon=fitted.audit.exposure.epsilon,
        names=names,
        seed=int(rng.integers(2**31)),
    )
    alone = fitted.audit
    report = replace(
        report,
        distortion=_better(report.distortion, alone.distortion),
        adversaries=tuple(
            _better(one, other) for one, other in zip(report.adversaries, alone.adversaries, strict=True)
        ),
        exposure=max(report.exposure, alone.exposure, key=lambda exposure: exposure.pinned_share),
    )
    accept(report, fitted.distortion, column)
    reference = fitted.audit.exposure.reference_pinned_share
    report = replace(report, exposure=replace(report.exposure, reference_pinned_share=reference))
    return replace(fitted, audit=report, method=f"{fitted.method}, together")


def _better(one: PartyAudit, other: PartyAudit) -> PartyAudit:
    return min(one, other, key=lambda party: party.loss)


def _as_side(mechanism: Mechanism, values: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """A release as columns that others see; which component was drawn is a name, not a number."""
    released = mechanism.apply(values, rng=rng)
    return {name: part if part.dtype.kind == "f" else part.astype(str) for name, part in released.items()}


def _as_release(mechanism: Mechanism, columns: Columns, rows: int) -> Floats:
    parts: list[Floats] = []
    for part in columns.values():
        if part.dtype.kind == "f":
            parts.append(part[:, None])
        elif isinstance(mechanism, CategoryMechanism):
            parts.append(np.array([float(symbol[1:]) for symbol in part])[:, None])
        else:
            parts.append((part[:, None] == np.unique(part)[None, :]).astype(np.float64))
    return np.hstack(parts) if parts else np.zeros((rows, 0))
