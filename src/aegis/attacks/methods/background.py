"""Rule out one sensitive value that the person is known not to have, and read off what is left."""

from __future__ import annotations

import numpy as np

from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.methods.homogeneity import sensitive_columns
from aegis.attacks.scene import Scene


@attack(
    "background-knowledge",
    knows="all quasi-identifiers, and one sensitive value that the person does not have",
    linked=True,
    cheap=True,
)
def background_knowledge(scene: Scene) -> Claims | NotApplicable:
    """Claims the other value where the candidate rows hold two, and the person is known not to have one of them."""
    view, people = scene.release.view, scene.truth
    columns = sensitive_columns(scene, view)
    if not columns:
        return NotApplicable(reason="no sensitive column shows values that people share")
    candidates = scene.candidates(view)
    answers = []
    for name, codes in columns:
        size = people.domains[name].size
        counts = candidates.value_counts(np.where(codes < 0, size, codes), size + 1)
        order = np.argsort(-counts, axis=1, kind="stable")[:, :2]
        two = ((counts > 0).sum(axis=1) == 2) & (counts[:, size] == 0)
        claimed = two[candidates.tuple_of]
        pair = order[candidates.tuple_of][claimed]
        true = people.codes[name][claimed]
        right = int(((pair[:, 0] == true) | (pair[:, 1] == true)).sum())
        # Without the release he takes the commonest of the values that he has not ruled out.
        shares = np.bincount(people.codes[name], minlength=size)
        ruled_out = np.where(pair[:, 0] == true, pair[:, 1], pair[:, 0])
        first, second = (np.argsort(-shares, kind="stable")[[0, min(1, size - 1)]]).tolist()
        guess = np.where(ruled_out == first, second, first)
        answers.append((int(claimed.sum()), right, int((guess == true).sum())))
    claims, right, guessed = max(answers)
    return Claims(people=people.count, singled_out=claims, right=right, baseline=guessed / claims if claims else 0.0)
