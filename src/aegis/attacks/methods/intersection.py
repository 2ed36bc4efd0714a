"""Join releases of the same people: what each hides the other may show."""

from __future__ import annotations

import numpy as np

from aegis.attacks.attack import Claims, attack
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
def intersection(scene: Scene) -> Claims:
    """Claims a row where the releases together leave only one for the person."""
    view = scene.together
    candidates = scene.candidates(view)
    row = candidates.only_row
    claimed = np.flatnonzero(row >= 0)
    linked = [len(link(scene.releases[0].view, other.view)) for other in scene.releases[1:]]
    values = unanimous(scene, view, candidates)
    details = {
        **small_candidates(candidates.rows, scene.promised_k),
        "rows_linked": float(min(linked)),
        "value_known": float(values.claimed),
        "value_right": float(values.right),
    }
    return Claims.of_rows(scene, view, people=claimed, rows=row[claimed], details=details)
