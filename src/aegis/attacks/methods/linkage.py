"""Link people to rows by what is known of them: the three attackers of the literature, and what follows from linking.

Releases of the same people are joined, because what each hides the other may show; a group may look like a crowd and be
one person with several rows; and that somebody is in the table at all is an answer by itself.
"""

from __future__ import annotations

import numpy as np

from aegis.arrays import Codes
from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.methods.homogeneity import unanimous
from aegis.attacks.scene import Scene
from aegis.attacks.view import link


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


@attack(
    "one-person",
    knows="the quasi-identifiers of one of the person's records; claims the rows that fit where all are that person's",
    cheap=True,
)
def one_person(scene: Scene) -> Claims | NotApplicable:
    """Claims a person where every row that fits one of the person's records is that person's, however many."""
    truth = scene.truth
    if scene.unit is None or scene.unit not in truth.codes:
        return NotApplicable(reason="nothing says whose the records are: name the column with --person, or as unit")
    person = truth.codes[scene.unit]
    candidates = scene.candidates(scene.release.view)
    tuples, classes = len(candidates.tuple_rows), len(candidates.class_rows)
    owner = np.repeat(np.arange(tuples), np.diff(candidates.ends))
    lowest, highest = _spread(candidates.tuple_of, person, person, tuples)
    # A class holds people from the lowest to the highest number among the tuples that fit it, and so on back to tuples.
    low, high = _spread(candidates.listed, lowest[owner], highest[owner], classes)
    fewest, most = _spread(owner, low[candidates.listed], high[candidates.listed], tuples)
    alone = (fewest == most) & (candidates.tuple_rows > 0)
    exposed = np.unique(person[alone[candidates.tuple_of]])
    people = len(np.unique(person))
    return Claims(
        people=people,
        singled_out=len(exposed),
        right=len(exposed),
        baseline=1 / max(people, 1),
        details={"records": float(alone[candidates.tuple_of].sum())},
    )


def _spread(group: Codes, low: Codes, high: Codes, groups: int) -> tuple[Codes, Codes]:
    """The smallest of ``low`` and the largest of ``high`` in each group."""
    smallest = np.full(groups, np.iinfo(np.int64).max, dtype=np.int64)
    largest = np.full(groups, -1, dtype=np.int64)
    np.minimum.at(smallest, group, low)
    np.maximum.at(largest, group, high)
    return smallest, largest
