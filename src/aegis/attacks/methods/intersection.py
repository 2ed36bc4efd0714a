"""Join releases of the same people: what each hides the other may show."""

from __future__ import annotations

import numpy as np

from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.methods.homogeneity import unanimous
from aegis.attacks.methods.linkage import small_candidates
from aegis.attacks.scene import Scene
from aegis.attacks.view import link


@attack(
    "intersection",
    knows="all quasi-identifiers; links the rows of the releases by the columns that they leave as they are",
    together=True,
    least_releases=2,
    cheap=True,
)
def intersection(scene: Scene) -> Claims | NotApplicable:
    """Claims a row where the releases together leave only one for the person."""
    if len(scene.releases) < 2:
        return NotApplicable(reason="there is one release only")
    view, people = scene.together, scene.truth
    candidates = scene.candidates(view)
    row = candidates.only_row
    claimed = np.flatnonzero(row >= 0)
    right = int(scene.whole(view).fits(claimed, row[claimed]).sum())
    linked = [len(link(scene.releases[0].view, other.view)) for other in scene.releases[1:]]
    values = unanimous(scene, view, candidates)
    return Claims(
        people=people.count,
        singled_out=len(claimed),
        right=right,
        baseline=1 / max(people.count, 1),
        details={
            **small_candidates(candidates.rows, scene.promised_k),
            "rows_linked": float(min(linked)),
            "value_known": float(values.claimed),
            "value_right": float(values.right),
        },
    )
