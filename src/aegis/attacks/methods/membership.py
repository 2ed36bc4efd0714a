"""Was the person in the table at all? To be among the patients of a clinic is an answer by itself."""

from __future__ import annotations

import numpy as np

from aegis.attacks.attack import Claims, attack
from aegis.attacks.scene import Scene


@attack(
    "membership",
    knows="all quasi-identifiers and sensitive values of the person; asks whether the table has a row that fits",
    statistical=True,
)
def membership(scene: Scene) -> Claims:
    """A coin decides for each person whether his row is in the table; the attacker claims it is where one fits.

    Without a person's own row others may still fit him: the more do, the less the claim says.
    """
    view, people = scene.release.view, scene.truth
    rows = scene.candidates(view, (*scene.known, *scene.sensitive)).rows
    own = scene.whole(view).rows > 0
    inside = (np.random.default_rng(scene.seed).random(people.count) < 0.5) & own
    fits = np.where(inside | ~own, rows > 0, rows > 1)
    tested = own  # whoever was dropped from the release has no row that could be taken out
    return Claims(
        people=int(tested.sum()),
        singled_out=int((fits & tested).sum()),
        right=int((fits & inside).sum()),
        baseline=0.5,
    )
