"""Who knows what: the releases that an attacker holds, and the true table that says whether he is right.

The true table stays on the provider's side. An attack takes from it what the attacker is said to know of people (the
quasi-identifiers, say), and looks at the rest only to count how many of his claims are true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aegis.arrays import Codes
from aegis.attacks.candidates import Candidates, People
from aegis.attacks.view import View, joined
from aegis.data.schema import Roles
from aegis.errors import DataError
from aegis.masking.mask import Mask
from aegis.privacy.policy import Policy


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeldRelease:
    """A release in the attacker's hands.

    ``view`` are its rows, ``texts`` every column as written (its distinct texts, and which stands in each row),
    ``masks`` what is known of the masking, ``path`` the file itself where there is one.
    """

    name: str
    view: View
    texts: Mapping[str, tuple[tuple[str | None, ...], Codes]]
    masks: Mapping[str, Mask]
    path: Path | None = None

    def __repr__(self) -> str:
        return f"HeldRelease({self.name}, {self.view.rows} rows)"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Scene:
    """What an attack is given.

    ``people`` is None where the true table is not at hand: then claims can be counted and not checked. ``unit`` is the
    column of the true table that says whose records they are, where somebody may have several. ``told`` are the columns
    that quasi-identifiers tell, such as the weekday of a date: whoever knows those knows these.
    """

    releases: tuple[HeldRelease, ...]
    people: People | None
    roles: Roles
    policy: Policy | None = None
    seed: int = 0
    unit: str | None = None
    told: tuple[str, ...] = ()
    _whole: dict[int, tuple[View, Candidates]] = field(init=False, default_factory=dict)

    def __repr__(self) -> str:
        return f"Scene({len(self.releases)} releases)"

    @property
    def truth(self) -> People:
        """The true table; `DataError` where there is none."""
        if self.people is None:
            raise DataError("this attack needs the original table to say who is right")
        return self.people

    @property
    def release(self) -> HeldRelease:
        """The one release that is attacked."""
        return self.releases[0]

    @property
    def known(self) -> tuple[str, ...]:
        """What an attacker knows of people unless an attack says more: their quasi-identifiers, and what those tell."""
        return (*self.roles.quasi_identifying, *self.told)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """What he wants to know: the sensitive columns, or the label where none is called sensitive."""
        label = () if self.roles.label is None else (self.roles.label,)
        return self.roles.sensitive or label

    @property
    def promised_k(self) -> int:
        """The smallest class that the policy promises; 2 where it names none."""
        models = () if self.policy is None else self.policy.models
        sizes = [int(model.threshold) for model in models if model.name == "k-anonymity"]
        return max(sizes, default=2)

    @cached_property
    def together(self) -> View:
        """All releases, linked row by row."""
        view = self.releases[0].view
        for other in self.releases[1:]:
            view = joined(view, other.view)
        return view

    def candidates(self, view: View, names: tuple[str, ...] | None = None) -> Candidates:
        """The rows that fit each person in what is known of him."""
        return Candidates.find(view, self.truth, self.known if names is None else names)

    def whole(self, view: View) -> Candidates:
        """The rows that fit each person in every column: his own, and those that cannot be told from it."""
        if id(view) not in self._whole:  # several attacks ask, and it is the longest question
            self._whole[id(view)] = view, Candidates.find(view, self.truth, tuple(view.columns))
        return self._whole[id(view)][1]

    def linked(self) -> Scene:
        """The same with one release: all of them, linked row by row."""
        names = " with ".join(release.name for release in self.releases)
        return self.of_one(HeldRelease(name=names, view=self.together, texts={}, masks={}))

    def of_one(self, release: HeldRelease) -> Scene:
        """The same with one of the releases."""
        alone = replace(self, releases=(release,))
        object.__setattr__(alone, "_whole", self._whole)
        return alone


def exact_codes(view: View, name: str) -> Codes | None:
    """The true codes that a column shows, -1 where it hides them; None where it shows none or is not there."""
    if name not in view.columns:
        return None
    column = view.columns[name]
    exact: NDArray[np.bool_] = column.reading.exact
    if not exact[column.codes].any():
        return None
    return np.where(exact, column.reading.low, -1)[column.codes]
