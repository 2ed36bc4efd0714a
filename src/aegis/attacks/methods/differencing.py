"""Subtract one version of a table from the next: what is left is whoever came or went."""

from __future__ import annotations

import numpy as np

from aegis.arrays import Codes
from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.candidates import Candidates
from aegis.attacks.methods.linkage import small_candidates
from aegis.attacks.scene import HeldRelease, Scene
from aegis.attacks.view import part_of
from aegis.counts.grouping import group_rows


@attack(
    "differencing",
    knows="who joined or left between two versions, and their quasi-identifiers",
    together=True,
    least_releases=2,
    cheap=True,
)
def differencing(scene: Scene) -> Claims | NotApplicable:
    """Claims a row where it is the only one that fits a newcomer among the rows that one version has more."""
    answers = [
        _between(scene, earlier, later)
        for number, earlier in enumerate(scene.releases)
        for later in scene.releases[number + 1 :]
    ]
    claims = [answer for answer in answers if isinstance(answer, Claims)]
    if not claims:
        return NotApplicable(reason="no two releases are versions of one table: most of their rows differ")
    return max(claims, key=lambda answer: (answer.right or 0, answer.singled_out))


def _between(scene: Scene, earlier: HeldRelease, later: HeldRelease) -> Claims | None:
    """Both ways: rows that came, and rows that went."""
    names = [name for name in earlier.texts if name in later.texts and name in later.view.columns]
    if not names:
        return None
    more, fewer = only_in_one(later, earlier, names), only_in_one(earlier, later, names)
    if max(len(more), len(fewer)) > min(later.view.rows, earlier.view.rows) / 2:
        return None
    claims = right = newcomers = 0
    details: dict[str, float] = {}
    for release, rows in ((later, more), (earlier, fewer)):
        if not len(rows):
            continue
        part = part_of(release.view, rows)
        whole = Candidates.find(part, scene.truth, tuple(part.columns))
        changed = np.flatnonzero(whole.rows > 0)  # they came or went, and that is known
        candidates = Candidates.find(part, scene.truth, scene.known)
        row = candidates.only_row[changed]
        # People whom their rows do not tell apart claim one row between them: it came or went once.
        claims += len(np.unique(row[row >= 0]))
        right += len(np.unique(row[row >= 0][whole.fits(changed[row >= 0], row[row >= 0])]))
        newcomers += min(len(changed), len(rows))
        details = small_candidates(candidates.rows[changed], scene.promised_k)
    return Claims(
        people=newcomers,
        singled_out=claims,
        right=right,
        baseline=1 / max(scene.truth.count, 1),
        details={**details, "rows_that_differ": float(len(more) + len(fewer))},
    )


def only_in_one(first: HeldRelease, other: HeldRelease, names: list[str]) -> Codes:
    """The rows of ``one`` that ``other`` has fewer of, compared as they are written."""
    parts, sizes = [], []
    for name in names:
        texts = {
            text: number for number, text in enumerate(dict.fromkeys((*first.texts[name][0], *other.texts[name][0])))
        }
        merged = [np.array([texts[text] for text in side.texts[name][0]], dtype=np.int64) for side in (first, other)]
        parts.append(np.concatenate([merged[0][first.texts[name][1]], merged[1][other.texts[name][1]]]))
        sizes.append(len(texts))
    group = group_rows(np.stack(parts, axis=1), sizes)[1]
    first_groups, second_groups = group[: first.view.rows], group[first.view.rows :]
    groups = int(group.max(initial=-1)) + 1
    # Of rows that are alike the first ones have a partner, the others do not.
    order = np.argsort(first_groups, kind="stable")
    begins = np.searchsorted(first_groups[order], np.arange(groups))
    which = np.empty(len(first_groups), dtype=np.int64)
    which[order] = np.arange(len(first_groups)) - begins[first_groups[order]]
    return np.flatnonzero(which >= np.bincount(second_groups, minlength=groups)[first_groups])
