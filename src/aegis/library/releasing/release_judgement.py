"""Counts → verdict: the release by itself, together with earlier releases, what becomes of each class, and its record.

The record is an entry in the ledger, with the class that each of its rows has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import ibis.expr.types as ir
import numpy as np
from numpy.typing import NDArray

from aegis.commands.release import Release
from aegis.counts.class_table import ClassTable, suppressed_classes
from aegis.errors import LedgerError, PolicyNotSatisfiedError
from aegis.library.ledgers.constraints import remember
from aegis.library.ledgers.earlier_promises import check_promises, check_same_contents
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.releasing.release_source import ReleaseCounts, Source, count_published, open_source
from aegis.library.tables.judging import EVERYBODY, why_not, with_everybody
from aegis.library.tables.masked_data import all_masks
from aegis.masking.configuration_file import to_mapping
from aegis.privacy.judgement import Judgement, judge_all
from aegis.privacy.policy import Suppressed
from aegis.privacy.together import HELD, SHOWN, STARRED, Together, judge_together
from aegis.releases.apply import with_suppression
from aegis.releases.certificate import Certificate, digest
from aegis.releases.ledger_entry import RecordedRelease
from aegis.releases.row_digest import OWN


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judged:
    """The release by itself, what becomes of each class, and what it does together with earlier releases."""

    own: Judgement
    treatment: NDArray[np.int8]
    together: Together | None = None
    despite: str | None = None


def judge_release(source: Source, counts: ReleaseCounts, options: Release) -> Judged:
    earlier = source.earlier
    if earlier is not None and earlier.unjoinable is not None:
        if options.despite_ledger is None:
            raise PolicyNotSatisfiedError(f"nothing was released: {earlier.unjoinable}")
        judged = judged_alone(source, counts)
        check_alone(judged.own, counts.classes)
        return replace(judged, despite=options.despite_ledger)
    if earlier is None or not earlier.constrains:
        if earlier is None or not earlier.recognised.given_up:
            options.refuse(
                "despite_ledger", because="there is no earlier release that it could be judged together with"
            )
        judged = judged_alone(source, counts)
        check_alone(judged.own, counts.classes)
        return replace(judged, despite=options.despite_ledger)
    try:
        check_promises(
            earlier.counted,
            source.policy,
            source.roles,
            published=[name for name in source.dataset.schema.names if name not in source.left_out],
            masks=all_masks(source.configuration, source.roles),
        )
        check_same_contents(earlier, source.configuration, left_out=source.left_out)
        together = earlier.judge(counts.classes, source.joint_policy)
        own = together.own
        if source.shown_earlier:  # alone it shows nothing of these columns
            own = judge_together(counts.classes, source.judged_policy, alone=True).own
        check_alone(own, counts.classes)
        why_refused = None if together.satisfied else _why_refused(source, together, options)
    except LedgerError as error:
        together, why_refused = None, str(error)
    if why_refused is None:
        options.refuse("despite_ledger", because="the ledger allows it")
        assert together is not None
        return Judged(own=together.own, treatment=together.treatment, together=together)
    if options.despite_ledger is None:
        raise PolicyNotSatisfiedError(f"nothing was released: {why_refused}")
    alone = judge_together(counts.classes, source.judged_policy, alone=True)
    check_alone(alone.own, counts.classes)
    return Judged(own=alone.own, treatment=alone.treatment, together=together, despite=options.despite_ledger)


def judged_alone(source: Source, counts: ReleaseCounts) -> Judged:
    """The release by itself."""
    own = judge_all(counts.classes, source.judged_policy, suppress=bool(source.published_roles.quasi_identifying))
    treatment = np.full(counts.classes.classes, SHOWN, dtype=np.int8)
    if own.suppressed:
        treatment[suppressed_classes(counts.classes, own.released)] = STARRED
    return Judged(own=own, treatment=treatment)


def check_alone(own: Judgement, classes: ClassTable) -> None:
    if not own.satisfied:
        raise PolicyNotSatisfiedError(f"nothing was released: {why_not(own, classes)}")


def _why_refused(source: Source, together: Together, options: Release) -> str:
    def judged_with(earlier: EarlierReleases) -> Together:
        return earlier.judge(count_published(source, earlier, options).classes, source.joint_policy)

    assert source.earlier is not None
    return source.earlier.refusal(together, judged_with)


def treated(source: Source, counts: ReleaseCounts, judged: Judged) -> ir.Table:
    """The rows as they will be written: some classes starred, some left out."""
    dropped = source.policy.suppressed is Suppressed.DROPPED
    classes, starred = counts.classes, [name for name in counts.classes.columns if not name.startswith(OWN)]
    table = counts.published.table
    table = with_everybody(table) if EVERYBODY in classes.columns else table
    table = with_suppression(table, classes, judged.treatment == HELD, drop=True, starred=())
    if not (judged.treatment != HELD).any():
        raise PolicyNotSatisfiedError(
            f"nothing was released: all {classes.records:,} rows wait, for each would be told apart from earlier "
            "releases"
        )
    if dropped or starred:
        table = with_suppression(table, classes, judged.treatment == STARRED, drop=dropped, starred=starred)
    return table


def remember_release(
    source: Source,
    table: ir.Table,
    judged: Judged,
    certificate: Certificate,
    options: Release,
    *,
    listed: Mapping[str, Mapping[str, Any]],
) -> None:
    """Write the release into the ledger, with the class that each of its rows has and what its certificate lists."""
    if source.earlier is None:
        return
    content = certificate.content
    recorded = _leaving(source, judged, options, name=content["release"]["name"])
    remember(
        source.earlier,
        replace(
            recorded,
            rows=content["release"]["rows"],
            held=content["ledger"]["held"] + content["ledger"]["withdrawn"],
            file_sha256=content["release"]["sha256"],
            certificate_sha256=digest(content),
            despite=judged.despite,
            listed=listed,
        ),
        table,
    )


def record_release(options: Release, *, name: str) -> None:
    """Put a release on the record that was written elsewhere: the same steps, without writing or a joint judgement."""
    source = open_source(options)
    assert source.earlier is not None, "whoever asks for a record has named a ledger"
    drawn = [c for c, mask in source.configuration.masks.items() if mask.is_random]
    if drawn:
        raise LedgerError(
            f"what a mask drew for {drawn[0]!r} cannot be drawn again, so nobody can say what that release showed of "
            "which row"
        )
    counts = count_published(source, source.earlier, options)
    if source.earlier.constrains:
        own = judge_together(counts.classes, source.judged_policy, alone=True)
        judged = Judged(own=own.own, treatment=own.treatment)
    else:
        judged = judged_alone(source, counts)
    check_alone(judged.own, counts.classes)
    table = treated(source, counts, judged)
    recorded = replace(
        _leaving(source, judged, options, name=name), rows=judged.own.released.records, despite="added by hand"
    )
    remember(source.earlier, recorded, table)


def _leaving(source: Source, judged: Judged, options: Release, *, name: str) -> RecordedRelease:
    """What the ledger keeps of a release: how it was made, never a value. A pseudonym's key is no part of its mask."""
    assert source.earlier is not None
    masked = options.config is not None
    return RecordedRelease(
        name=name,
        kind="masks" if masked else "as it is" if options.rows_of is None else "finished table",
        recipient=source.earlier.recipient,
        configuration=to_mapping(source.configuration) if masked else None,
        columns=tuple(c for c in source.dataset.schema.names if c not in source.left_out),
        quasi_identifying=source.published_roles.quasi_identifying,
        suppressed=judged.own.suppressed,
        version=source.earlier.version,
        policy=source.policy.to_mapping(),
        policy_id=source.policy.id,
        recipients=source.policy.recipients,
        roles=source.roles.to_mapping(),
    )
