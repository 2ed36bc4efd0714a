"""The kind ``sanitized``: sensitive columns as a sanitizer releases them, quasi-identifiers as a search masks them."""

from __future__ import annotations

from collections.abc import Sequence

from aegis.candidates.sanitizers.candidate import SanitizedCandidate, column_values
from aegis.errors import RoleError, SanitizerError
from aegis.evaluation.sanitizing import Sanitizers, find_sanitizers
from aegis.library.advising.candidate_kinds import CandidateInputs, MadeCandidate
from aegis.library.advising.searched_kind import searched
from aegis.plural import count

MOST_ROWS = 4_000
"""A mechanism is found and attacked on so many rows of the sample: more would take longer than the whole race."""
SHARES = (0.4, 0.8)
"""Distortions, as shares of the error that the authorised party has when nothing is released."""


def sanitized(inputs: CandidateInputs) -> list[MadeCandidate]:
    """Sensitive columns at several distortions, each audited; one that determines records is none and says why.

    The adversary knows the quasi-identifiers, the authorised party every column that is not private. The policy judges
    the quasi-identifiers as they are masked, and the true values where it speaks of sensitive ones: a symbol in a class
    says less, or more, than the value behind it.
    """
    inputs.check_nothing_is_out(
        "a sanitized table", because="what a sanitizer draws for a row is known once it is written"
    )
    sample = inputs.sample
    private = [name for name in inputs.constraints.roles.sensitive if name in sample.codes and name != inputs.label]
    if not private:
        raise RoleError("no column beside the label is sensitive; name what a sanitizer is to hide with --sensitive")
    complete = [name for name in sample.codes if not sample.histograms[name].domain.missing]
    missing = [name for name in private if name not in complete]
    if missing:
        raise SanitizerError(
            f"{missing[0]!r} is sensitive and misses values, and candidates are made of complete columns; aegis "
            "sanitize fills them and says so"
        )
    sanitizers = find_sanitizers(
        {name: column_values(sample, name)[:MOST_ROWS] for name in complete},  # rows come in random order
        private=private,
        adversary=inputs.quasi,
        shares=SHARES,
        seed=inputs.seed,
    )
    if not sanitizers.by_share:
        raise SanitizerError("; ".join(sanitizers.notes))
    (base,) = searched(inputs)
    return [
        MadeCandidate(
            candidate=SanitizedCandidate(f"sanitized-{100 * share:.0f}", base.candidate, sample, mechanisms),
            verdict=base.verdict,
            reason=_reason(sanitizers, share),
            id=base.id,
        )
        for share, mechanisms in sanitizers.by_share.items()
    ]


def _reason(sanitizers: Sanitizers, share: float) -> str:
    """What was hidden, at which distortion, what the audit found, and what could not be had."""
    fitted: Sequence[str] = [
        f"{column.mechanism.column}: the adversary errs by {column.audit.worst:.4g}, "
        f"{100 * column.protection[0].after.certain:.1f} % of the records are determined for it"
        f"{''.join(f'; {words}' for words in column.cautions)}"
        for column in sanitizers.fitted[share]
    ]
    refused = "".join(f"; {note}" for note in sanitizers.notes)
    return (
        f"{count(len(sanitizers.private), 'column')} released at {100 * share:.0f} % of the error that knowing the "
        f"others leaves ({'; '.join(fitted)}), the quasi-identifiers as the search masks them{refused}"
    )
