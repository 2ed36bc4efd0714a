"""Average what was drawn anew in every release: noise cancels, the value stays."""

from __future__ import annotations

import math

import numpy as np

from aegis.arrays import Codes
from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.scene import HeldRelease, Scene
from aegis.attacks.view import link
from aegis.learners.target import Floats
from aegis.masking.masks.noise import AddGaussianNoise, NoiseMask

_SURE = 1.96  # standard errors on either side hold the mean in 95 of 100 cases


@attack(
    "averaging",
    knows="links the rows of releases with fresh noise by the columns that they leave as they are",
    together=True,
    statistical=True,
)
def averaging(scene: Scene) -> Claims | NotApplicable:
    """Claims the true value nearest to the mean of a row's noisy ones, where no other value is as likely."""
    people = scene.truth
    columns = [
        name
        for name in scene.releases[0].masks
        if name in people.codes
        and people.domains[name].kind.is_number
        and all(isinstance(release.masks.get(name), NoiseMask) for release in scene.releases)
    ]
    if not columns:
        return NotApplicable(reason="no column has noise in every release")
    rows = _linked_rows(scene)
    first = scene.releases[0].view
    owner = _owners(scene, rows[:, 0])
    owned = owner >= 0
    answers = []
    for name in columns:
        noisy = np.stack([_numbers(release, name)[rows[:, i]] for i, release in enumerate(scene.releases)], axis=1)
        complete = owned & ~np.isnan(noisy).any(axis=1)
        values = people.domains[name].values.astype(np.float64)
        mean = noisy[complete].mean(axis=1)
        nearest = _nearest(values, mean)
        # Sure where the neighbours of the nearest value lie farther than the mean may err.
        error = _SURE * _spread(scene, name) / math.sqrt(len(scene.releases))
        gap = np.minimum(np.diff(values, prepend=-math.inf)[nearest] / 2, np.diff(values, append=math.inf)[nearest] / 2)
        sure = error <= gap
        true = people.codes[name][owner[complete]]
        common = int(np.bincount(people.codes[name]).argmax())
        answers.append(
            (
                int(sure.sum()),
                int((nearest[sure] == true[sure]).sum()),
                int((true[sure] == common).sum()),
                float(np.abs(values[np.minimum(true, len(values) - 1)] - mean).mean()) if len(mean) else 0.0,
            )
        )
    claims, right, guessed, off = max(answers, key=lambda answer: answer[:2])
    return Claims(
        people=min(people.count, first.rows),
        singled_out=claims,
        right=right,
        baseline=guessed / claims if claims else 0.0,
        details={"rows_linked": float(len(rows)), "mean_error": off, "releases": float(len(scene.releases))},
    )


def _linked_rows(scene: Scene) -> Codes:
    """Rows of the first release with their partners in all others, a line each."""
    rows = np.arange(scene.releases[0].view.rows)[:, None]
    for other in scene.releases[1:]:
        links = link(scene.releases[0].view, other.view)
        partner = np.full(scene.releases[0].view.rows, -1, dtype=np.int64)
        partner[links.first] = links.second
        linked = partner[rows[:, 0]]
        rows = np.concatenate([rows, linked[:, None]], axis=1)[linked >= 0]
    return rows


def _owners(scene: Scene, rows: Codes) -> Codes:
    """Whose row each is, for those that fit one person in every column; -1 for the others."""
    row = scene.whole(scene.releases[0].view).only_row
    owner = np.full(scene.releases[0].view.rows, -1, dtype=np.int64)
    alone = np.flatnonzero(row >= 0)
    counts = np.bincount(row[alone], minlength=len(owner))
    owner[row[alone]] = alone
    owner[counts != 1] = -1
    return owner[rows]


def _numbers(release: HeldRelease, name: str) -> Floats:
    texts, codes = release.texts[name]
    return np.array([_number(text) for text in texts])[codes]


def _number(text: str | None) -> float:
    try:
        return math.nan if text is None else float(text)
    except ValueError:
        return math.nan


def _nearest(values: Floats, targets: Floats) -> Codes:
    right = np.clip(np.searchsorted(values, targets), 1, max(len(values) - 1, 1))
    left = right - 1
    if len(values) == 1:
        return np.zeros(len(targets), dtype=np.int64)
    return np.asarray(np.where(targets - values[left] <= values[right] - targets, left, right))


def _spread(scene: Scene, name: str) -> float:
    """The largest standard deviation of the noise on a column."""
    spreads = []
    for release in scene.releases:
        mask = release.masks[name]
        assert isinstance(mask, NoiseMask)
        spreads.append(mask.scale if isinstance(mask, AddGaussianNoise) else mask.scale * math.sqrt(2))
    return max(spreads)
