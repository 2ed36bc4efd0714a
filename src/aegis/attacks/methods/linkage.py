"""Link people to rows by what is known of them: the three attackers of the literature."""

from __future__ import annotations

import numpy as np

from aegis.attacks.attack import Claims, attack
from aegis.attacks.scene import Scene


@attack(
    "prosecutor",
    knows="that the person is in the table, and the true values of all quasi-identifiers",
    cheap=True,
)
def prosecutor(scene: Scene) -> Claims:
    """Claims a row where it is the only one that fits the person."""
    view = scene.release.view
    candidates = scene.candidates(view)
    row = candidates.only_row
    claimed = np.flatnonzero(row >= 0)
    details = small_candidates(candidates.rows, scene.promised_k)
    return Claims.of_rows(scene, view, people=claimed, rows=row[claimed], details=details)


@attack(
    "marketer",
    knows="the quasi-identifiers of everybody, and names each person a row that fits, at random among those",
    cheap=True,
)
def marketer(scene: Scene) -> Claims:
    """Claims a row for everybody; what is counted is how many are expected to be right."""
    view, people = scene.release.view, scene.truth
    rows = scene.candidates(view).rows
    own = scene.whole(view).rows > 0
    claims = rows > 0
    expected = float((1 / rows[own & claims]).sum())
    return Claims(
        people=people.count,
        singled_out=int(claims.sum()),
        right=int(expected + 1e-9),
        baseline=1 / max(people.count, 1),
        details={"expected_right": expected},
    )


@attack(
    "journalist",
    knows="a register of people with their quasi-identifiers, not who of them is in the table",
    cheap=True,
)
def journalist(scene: Scene) -> Claims:
    """Claims a row where it fits one person of the register only and no other row fits that person."""
    view = scene.release.view
    row = scene.candidates(view).only_row
    claimed = np.flatnonzero(row >= 0)
    owners = np.bincount(row[claimed], minlength=view.rows)
    claimed = claimed[owners[row[claimed]] == 1]
    return Claims.of_rows(scene, view, people=claimed, rows=row[claimed])


def small_candidates(rows: np.ndarray[tuple[int], np.dtype[np.int64]], k: int) -> dict[str, float]:
    """How few rows are left for people: the fewest for anybody, and for how many fewer than k."""
    fitting = rows[rows > 0]
    return {
        "fewest_rows": float(fitting.min()) if len(fitting) else 0.0,
        "below_k": float((fitting < k).sum()),
        "k": float(k),
    }
