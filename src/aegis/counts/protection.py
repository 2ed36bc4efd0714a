"""How the counts of a summary were protected before they were told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aegis.counts.known_keys import check_keys
from aegis.errors import SummaryError


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """Small cells merged, or noise added; never both.

    ``min_count``: every cell, of a value and of a value with a label, is empty or has at least so many records;
    ``merged`` names the columns that had smaller ones.
    ``epsilon``: the privacy budget of all joints together, ``epsilon_each`` of one; each cell got two-sided geometric
    noise of ``scale``, and the joints were moved to the nearest ones that agree and have no negative counts.

    >>> Protection(epsilon=1.0, attributes=8).scale
    8.0
    """

    min_count: int | None = None
    epsilon: float | None = None
    attributes: int = 0
    merged: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.min_count is not None and self.epsilon is not None:
            raise SummaryError(
                "merging small cells looks at the counts, which noise is to hide: give a minimum count or an epsilon"
            )
        if self.min_count is not None and (not isinstance(self.min_count, int) or self.min_count < 2):
            raise SummaryError("the minimum count must be a whole number of 2 or more")
        if self.epsilon is not None and not 0 < self.epsilon <= 100:
            raise SummaryError("epsilon must be above 0 and at most 100; 1 is a common choice")
        if self.epsilon is not None and self.attributes < 1:
            raise SummaryError("a budget is split among one attribute or more")

    @property
    def noisy(self) -> bool:
        return self.epsilon is not None

    @property
    def epsilon_each(self) -> float:
        """The budget of one attribute's joint: a record is in one cell of each, so the budgets add up."""
        return 0.0 if self.epsilon is None else self.epsilon / self.attributes

    @property
    def scale(self) -> float:
        """The scale of the noise in records: one record more or less changes one cell of a joint by one."""
        return 0.0 if self.epsilon is None else self.attributes / self.epsilon

    def describe(self) -> str:
        """The protection in a sentence. Scores of pairs come from counts that it does not cover, so there are none."""
        if self.epsilon is not None:
            return (
                f"differentially private counts: epsilon {self.epsilon:g} split evenly among {self.attributes} "
                f"attributes ({self.epsilon_each:.4g} each, noise of scale {self.scale:.4g}); the values "
                "themselves are told as they are, and scores of pairs of attributes are left out"
            )
        if self.min_count is not None:
            where = f"merged in {', '.join(self.merged)}" if self.merged else "to be merged, but there were none"
            return (
                f"cells of fewer than {self.min_count} records were {where}; scores of pairs of attributes, which "
                "would come from unmerged counts, are left out"
            )
        return "none"

    def to_json(self) -> dict[str, Any]:
        """The entry of the manifest."""
        if self.epsilon is None:
            return {"min_count": self.min_count, "merged": list(self.merged)}
        return {
            "epsilon": self.epsilon,
            "attributes": self.attributes,
            "epsilon_each": self.epsilon_each,
            "scale": self.scale,
            "mechanism": "two-sided geometric, moved to the nearest counts that are not negative",
            "domains": "public",
        }

    @classmethod
    def from_json(cls, content: Any) -> Protection | None:
        """Read the entry of the manifest; None where there is none."""
        if content is None:
            return None
        check_keys(content, "noise" if "epsilon" in content else "merging")
        if "epsilon" in content:
            return cls(epsilon=float(content["epsilon"]), attributes=int(content["attributes"]))
        return cls(min_count=int(content["min_count"]), merged=tuple(content.get("merged", ())))
