"""Whoever is led along the path: a terminal that asks, or nobody, for whom every suggestion is taken.

The steps are functions of values (`looking`, `purposes`, `comparing`, `changes`, `candidate_release`). A guide is asked
between them, with the suggestion, and is shown what came out; it computes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from aegis.data.schema import Roles
from aegis.inspection.findings import Written
from aegis.library.guided.candidate_release import GuidedRelease
from aegis.library.guided.changes import ColumnChange
from aegis.library.guided.comparison import Comparison
from aegis.library.guided.looking import Look, SuggestedRole
from aegis.progress import Progress


class Guide:
    """Takes every suggestion and shows nothing."""

    def begin(self, step: int, title: str) -> None:
        """A step begins."""

    def note(self, text: str) -> None:
        """Something worth knowing, such as what was decided in an earlier sitting."""

    def show_look(self, seen: Look) -> None:
        """What is in the table."""

    def missing(self, seen: Look) -> tuple[str, ...]:
        """The texts that mean a missing value, out of those that look like it."""
        return seen.marks

    def notation(self, written: Written) -> str | None:
        """How a column is read that is written so, by the name of the option; None to leave it as text."""
        return written.likely

    def label(self, seen: Look, suggestion: str) -> str:
        """The column to be predicted."""
        return suggestion

    def label_bins(self, seen: Look, label: str) -> int | None:
        """Into how many classes a label of many numbers is cut; None to predict the numbers."""
        return None

    def roles(self, label: str, suggested: Sequence[SuggestedRole]) -> tuple[SuggestedRole, ...]:
        """The roles, each confirmed or changed."""
        return tuple(suggested)

    def purpose(self, roles: Roles, suggestion: str) -> str:
        """Who gets the table."""
        return suggestion

    def fewest(self, purpose: str, roles: Roles, suggestion: int, *, unit: str | None = None) -> int:
        """How many must look alike: people where ``unit`` names their column, else rows."""
        return suggestion

    def person(self, columns: Sequence[str], suggestion: str) -> str | None:
        """The column by which people are counted, out of those that look as if they said whose rows they are; None
        to count rows."""
        return suggestion

    @contextmanager
    def working(self, title: str) -> Iterator[Progress | None]:
        """Long work, with somebody to tell how far it is."""
        yield None

    def show_first_picture(self, comparison: Comparison) -> None:
        """The candidates that are made quickly, while the others are not made yet."""

    def show_comparison(self, comparison: Comparison) -> None:
        """The candidates, the picture and the recommendation."""

    def choose(self, comparison: Comparison) -> str:
        """The candidate to release."""
        return comparison.recommended

    def show_changes(self, changed: Sequence[ColumnChange]) -> None:
        """What each column becomes."""

    def may_release(self, out: Path) -> bool:
        """Whether the release is to be written there."""
        return True

    def show_release(self, left: GuidedRelease) -> None:
        """What was released."""
