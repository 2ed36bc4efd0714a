"""A release on the record: its entry in the ledger, with the class that each of its rows has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import ibis.expr.types as ir

from aegis.commands.release import Release
from aegis.errors import LedgerError
from aegis.library.ledgers.ledger_opening import remember
from aegis.library.releasing.listed_values import ListedValues
from aegis.library.releasing.release_judgement import Judged, check_alone, judged_alone, treated
from aegis.library.releasing.release_source import Source, count_published, open_source
from aegis.masking.configuration_file import to_mapping
from aegis.privacy.together import judge_together
from aegis.releases.certificate import Certificate, digest
from aegis.releases.ledger_entry import RecordedRelease


def remember_release(
    source: Source,
    table: ir.Table,
    judged: Judged,
    certificate: Certificate,
    options: Release,
    *,
    listed: Mapping[str, ListedValues],
) -> None:
    """Write the release into the ledger, with the class that each of its rows has."""
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
            listed={column: values.remembered() for column, values in listed.items()},
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
