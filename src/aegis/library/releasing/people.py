"""A release whose people were counted: what may be written of them, and what its certificate says.

The column that says whose records they are is not published, or everybody could put the records of a person together.
So nobody who holds the release can count people in it. Whoever makes it counts them in the masked table, and the
written classes are compared with those; the certificate states both, and `verify` measures what can be measured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aegis.errors import PolicyError, PolicyNotSatisfiedError
from aegis.masking.configuration import Configuration
from aegis.masking.masks.suppress import Suppress
from aegis.privacy.judgement import Judgement, judge_all
from aegis.releases.fit import links_of


def check_hidden(unit: str | None, configuration: Configuration) -> None:
    """Raise where the column that people are counted by would be published, even as pseudonyms."""
    if unit is None or unit not in configuration.masks:
        return
    if not any(isinstance(link, Suppress) for link in links_of(configuration.masks[unit])):
        raise PolicyError(
            f"people are counted by {unit!r}, and the configuration publishes something of it: whoever sees which "
            "records belong together knows more of a person than any class says; suppress it, or leave it out"
        )


def check_as_judged(measured: Judgement, judged: Judgement) -> None:
    """Raise unless the classes as they were written are those that were judged, by their records and every model."""
    expected = judge_all(judged.released.by_records(), judged.policy.by_records(), suppress=False)
    same = np.array_equal(np.sort(measured.released.sizes), np.sort(expected.released.sizes)) and all(
        _close(now.value, then.value) for now, then in zip(measured.verdicts, expected.verdicts, strict=True)
    )
    if not same:
        raise PolicyNotSatisfiedError(
            "nothing was released: the classes of the table as written are not those whose people were counted; write "
            "another format"
        )


def certified_verdicts(measured: Judgement, judged: Judgement, unit: str | None) -> dict[str, Any]:
    """What a certificate says that every model found: of people where they were counted, and of records."""
    of_records = {"verdicts": measured.as_certificate()["models"], "smallest_class": measured.smallest_class}
    if unit is None:
        return of_records
    people = judged.released.people
    assert people is not None, "a policy with a unit is judged on a table that says whose records they are"
    return {
        "verdicts": judged.as_certificate()["models"],
        "smallest_class": judged.smallest_class,
        "unit": {"column": unit, "people": people.everybody, "by_records": of_records},
    }


def _close(measured: float | None, expected: float | None) -> bool:
    if measured is None or expected is None:
        return measured is expected
    return bool(np.isclose(measured, expected, rtol=1e-9, atol=1e-12))
