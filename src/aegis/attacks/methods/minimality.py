"""Ask why a group was hidden: it failed the policy, and that says something about its members.

A publisher who suppresses only what must be suppressed tells that every hidden group was too small or too much alike.
Whoever knows the register can count the members of a hidden group. If there are enough of them, their sensitive
values were all the same, and among the starred rows only few values are frequent enough for that.
"""

from __future__ import annotations

import numpy as np

from aegis.arrays import Codes
from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.candidates import Candidates, starred_rows
from aegis.attacks.reading import written_by
from aegis.attacks.scene import HeldRelease, Scene, exact_codes
from aegis.attacks.view import part_of
from aegis.counts.grouping import group_rows
from aegis.masking.masks.identity import Identity


@attack(
    "minimality",
    knows="everybody's quasi-identifiers, the masks and the policy: groups are hidden only if they fail",
)
def minimality(scene: Scene) -> Claims | NotApplicable:
    """Claims the value of everybody in a hidden group that was large enough, where one value alone is possible."""
    release, people = scene.release, scene.truth
    diverse = [
        model
        for model in (() if scene.policy is None else scene.policy.models)
        if model.subject is not None and model.name == "distinct-l-diversity" and model.threshold == 2
    ]
    if not diverse:
        return NotApplicable(
            reason="no model asks for exactly two sensitive values in a group: what is hidden tells no single one"
        )
    groups = _masked_groups(scene, release)
    starred = starred_rows(release.texts, scene.roles.quasi_identifying)
    if groups is None or not starred.any():
        return NotApplicable(reason="no row is starred, or what the masks write is not known")
    hidden, size = _hidden(scene, release, groups)
    claims = right = guessed = 0
    for model in diverse:
        name = str(model.subject)
        shown = exact_codes(release.view, name)
        if shown is None:
            continue
        domain = people.domains[name].size
        left = np.bincount(shown[starred & (shown >= 0)], minlength=domain)
        attacked = hidden & (size >= scene.promised_k)
        possible = left[None, :] >= size[attacked][:, None] if attacked.any() else np.zeros((0, domain), dtype=bool)
        alone = possible.sum(axis=1) == 1
        value = np.full(len(size), -1, dtype=np.int64)
        value[np.flatnonzero(attacked)[alone]] = possible[alone].argmax(axis=1)
        claimed = value[groups] >= 0
        true = people.codes[name][claimed]
        claims += int(claimed.sum())
        right += int((value[groups][claimed] == true).sum())
        guessed += int((true == np.bincount(people.codes[name]).argmax()).sum())
    return Claims(
        people=int(hidden[groups].sum()),
        singled_out=claims,
        right=right,
        baseline=guessed / claims if claims else 0.0,
        details={"groups_hidden": float(hidden.sum())},
    )


def _masked_groups(scene: Scene, release: HeldRelease) -> Codes | None:
    """The group that each person would be in: what the masks write of the quasi-identifiers."""
    people = scene.truth
    parts, sizes = [], []
    for name in scene.roles.quasi_identifying:
        domain = people.domains[name]
        counts = np.bincount(people.codes[name], minlength=domain.size)
        written = written_by(release.masks.get(name, Identity()), domain, counts)
        if written is None or name not in release.texts:
            return None
        number: dict[str | None, int] = {}
        codes = np.array([number.setdefault(text, len(number)) for text in written], dtype=np.int64)
        parts.append(codes[people.codes[name]])
        sizes.append(len(number))
    return group_rows(np.stack(parts, axis=1), sizes)[1]


def _hidden(
    scene: Scene, release: HeldRelease, groups: Codes
) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], Codes]:
    """Which groups the release does not show, and how many members each has."""
    size = np.bincount(groups)
    shown = np.flatnonzero(~starred_rows(release.texts, scene.roles.quasi_identifying))
    fits = Candidates.find(part_of(release.view, shown), scene.truth, scene.roles.quasi_identifying).rows > 0
    hidden = np.ones(len(size), dtype=bool)
    hidden[groups[fits]] = False
    return hidden, size
