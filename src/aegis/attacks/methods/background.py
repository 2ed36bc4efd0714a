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
    """Claims the other value where the candidate rows hold two, and the person is known not to have one of them.

    Of a column that has two values in the whole table, whoever rules out one knows the other without any release. That
    a value is missing is no value that somebody has: it is neither ruled out nor claimed.
    """
    view, people = scene.release.view, scene.truth
    columns = sensitive_columns(scene, view)
    if not columns:
        return NotApplicable(reason="no sensitive column shows values that people share")
    columns = [(name, codes) for name, codes in columns if len(people.domains[name].values) > 2]
    if not columns:
        return NotApplicable(reason="of two values, whoever rules out one knows the other without the release")
    candidates = scene.candidates(view)
    answers = []
    for name, codes in columns:
        size, values = people.domains[name].size, len(people.domains[name].values)
        counts = candidates.value_counts(np.where(codes < 0, size, codes), size + 1)
        order = np.argsort(-counts, axis=1, kind="stable")[:, :2]
        two = ((counts > 0).sum(axis=1) == 2) & (counts[:, values:] == 0).all(axis=1)
        claimed = two[candidates.tuple_of]
        pair = order[candidates.tuple_of][claimed]
        true = people.codes[name][claimed]
        right = int(((pair[:, 0] == true) | (pair[:, 1] == true)).sum())
        # Without the release he takes the commonest of the values that he has not ruled out.
        shares = np.bincount(people.codes[name], minlength=size)[:values]
        ruled_out = np.where(pair[:, 0] == true, pair[:, 1], pair[:, 0])
        first, second = (np.argsort(-shares, kind="stable")[:2]).tolist()
        guess = np.where(ruled_out == first, second, first)
        answers.append((int(claimed.sum()), right, int((guess == true).sum())))
    claims, right, guessed = max(answers)
    return Claims(people=people.count, singled_out=claims, right=right, baseline=guessed / claims if claims else 0.0)
