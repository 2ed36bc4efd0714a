"""What a column must hold to be ranked, or to be the label of a ranking."""

from __future__ import annotations

from collections.abc import Mapping

from aegis.counts.joint import Counts
from aegis.data.domain import Domain
from aegis.errors import DataError, LabelError


def check_filled(columns: Mapping[str, Domain], *, what_to_do: str | None = None) -> None:
    """Raise if some column is missing in every row: most likely it was read wrongly, or is a leftover.

    ``what_to_do`` replaces the usual advice.
    """
    empty = [name for name, domain in columns.items() if not len(domain.values)]
    if empty:
        which = f"column {empty[0]!r} has" if len(empty) == 1 else f"columns {', '.join(map(repr, empty))} have"
        it = "it" if len(empty) == 1 else "them"
        usual = (
            f"drop {it}, or leave {it} out by naming {it} identifying "
            f"(--identifying {','.join(empty)}, or in the roles file)"
        )
        raise DataError(f"{which} no value in any row; {what_to_do or usual}")


def check_classes(label: str, counts: Counts) -> None:
    """Raise if no two rows share a value of the label: it names no classes, and nothing predicts it."""
    if counts.max(initial=0) <= 1:
        raise LabelError(
            f"the label {label!r} has another value in every row, so no two rows are alike; choose a column of classes"
        )
