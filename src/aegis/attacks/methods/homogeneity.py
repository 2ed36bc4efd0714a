"""Read a sensitive value off a group: its rows all hold it, or two of which one is ruled out. No row need be named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aegis.arrays import Codes
from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.candidates import Candidates
from aegis.attacks.scene import Scene, exact_codes
from aegis.attacks.view import View

MOST_VALUES = 1000
"""Columns with more distinct values are not read off groups: nobody shares them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanimous:
    """About how many people a value is claimed, how many claims are right, and how many would be by guessing."""

    claimed: int
    right: int
    guessed: int


def sensitive_columns(scene: Scene, view: View) -> list[tuple[str, Codes]]:
    """The sensitive columns that show values few enough to be shared, with the codes of every row."""
    shown = []
    for name in scene.sensitive:
        codes = exact_codes(view, name)
        if codes is not None and scene.truth.domains[name].size <= MOST_VALUES:
            shown.append((name, codes))
    return shown


def unanimous(scene: Scene, view: View, candidates: Candidates) -> Unanimous:
    """The people all of whose candidate rows hold one value, in the sensitive column where that is so most often."""
    people = scene.truth
    answers = [Unanimous(claimed=0, right=0, guessed=0)]
    for name, codes in sensitive_columns(scene, view):
        size = people.domains[name].size
        counts = candidates.value_counts(np.where(codes < 0, size, codes), size + 1)
        total = counts.sum(axis=1)
        value = counts.argmax(axis=1)
        sure = (counts.max(axis=1) == total) & (total > 0) & (value < size)
        claimed = sure[candidates.tuple_of]
        true = people.codes[name][claimed]
        common = int(np.bincount(people.codes[name], minlength=size).argmax())
        answers.append(
            Unanimous(
                claimed=int(claimed.sum()),
                right=int((value[candidates.tuple_of][claimed] == true).sum()),
                guessed=int((true == common).sum()),
            )
        )
    return max(answers, key=lambda answer: answer.claimed)


@attack(
    "homogeneity",
    knows="all quasi-identifiers of the person; claims the sensitive value that all rows that fit have in common",
    linked=True,
    cheap=True,
)
def homogeneity(scene: Scene) -> Claims | NotApplicable:
    """Claims a value where every candidate row holds it."""
    view = scene.release.view
    if not sensitive_columns(scene, view):
        return NotApplicable(reason="no sensitive column shows values that people share")
    agreed = unanimous(scene, view, scene.candidates(view))
    return Claims(
        people=scene.truth.count,
        singled_out=agreed.claimed,
        right=agreed.right,
        baseline=agreed.guessed / agreed.claimed if agreed.claimed else 0.0,
    )


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
