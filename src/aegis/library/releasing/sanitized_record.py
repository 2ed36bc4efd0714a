"""Sanitized tables and the ledger: judged together with earlier releases, and put on record, a file for each recipient.

The ledger speaks of the source's columns. A file shows what its recipient knows as it is, and of a private column what
was drawn; that is taken for the value itself wherever a later release is judged by it, from which it tells less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from aegis.candidates.sanitizers.audited_column import AuditedColumn
from aegis.candidates.sanitizers.mechanism import Model, sources
from aegis.commands.sanitize import Sanitize
from aegis.data.dataset import Dataset
from aegis.data.schema import Roles
from aegis.errors import LedgerError, PolicyNotSatisfiedError
from aegis.library.ledgers.earlier_promises import check_promises, masks_shown_earlier
from aegis.library.ledgers.earlier_releases import EarlierReleases
from aegis.library.ledgers.ledger_opening import earlier_releases_of, remember
from aegis.library.ledgers.shown_columns import SANITIZED, ShownColumn, check_drawn_once
from aegis.library.tables.judging import classes_of, read_policy
from aegis.library.tables.masked_data import masked_data
from aegis.masking.mask import Mask
from aegis.masking.masks.identity import Identity
from aegis.privacy.policy import Policy, narrowed, without
from aegis.privacy.together import SHOWN, Together
from aegis.releases.certificate import digest, hash_of
from aegis.releases.ledger import read_ledger
from aegis.releases.ledger_entry import RecordedRelease
from aegis.releases.row_classes import read_row_classes

AUTHORISED = "authorised party"
_CARRIER = {"k": 2}  # a ledger is opened by a policy; where none is asked for, nothing is judged by this one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SanitizedRecord:
    """The ledger of a table that is sanitized, what was found when it was judged, and the reason to go on despite."""

    earlier: EarlierReleases
    policy: Policy | None
    roles: Roles
    """Those of all columns of the source."""
    despite: str | None

    def to_json(self) -> dict[str, Any]:
        """What the certificate says of it."""
        return {
            "name": self.earlier.path.name,
            "head": self.earlier.ledger.head,
            "judged_with": list(self.earlier.counted) if self.policy is not None and self.despite is None else [],
            "despite": self.despite,
        }


def open_record(
    options: Sanitize, dataset: Dataset, *, private: Sequence[str], public: Sequence[str]
) -> SanitizedRecord | None:
    """The table's ledger, once the public file was judged together with all earlier releases; None without one.

    Raises where the policy does not hold together or asks for less than before, where there is none to judge by
    although something was released before, and where a private column was shown before: a second draw would be
    averaged with the first, and what left otherwise is hidden no more.
    """
    rules = None if options.policy is None else read_policy(options.policy)
    carrier = Policy.from_mapping(_CARRIER) if rules is None else rules
    roles = dataset.roles if rules is None else rules.roles_in(dataset.schema, dataset.roles)
    whole, shown_earlier = roles, {}
    if rules is not None:
        left_out = [name for name in dataset.schema.names if name not in {*private, *public}]
        before = masks_shown_earlier(options.data, options, policy=rules)
        shown_earlier = {name: before[name] for name in left_out if name in before and name in rules.attributes}
        carrier = narrowed(rules, roles, left_out=[name for name in left_out if name not in shown_earlier]).policy
        roles = without(roles, left_out)
        roles = replace(roles, quasi_identifying=tuple(n for n in roles.quasi_identifying if n in public))
    earlier = earlier_releases_of(
        options.data, dataset, options, policy=carrier, roles=roles, to_release=True, despite=options.despite_ledger
    )
    if earlier is None:
        options.refuse("recipient", "despite_ledger", because="this source has no ledger: name one with --ledger")
        return None
    reason = None
    if earlier.counted:
        try:
            showing = {name: ShownColumn(mask=Identity(), is_sanitized=name in private) for name in (*public, *private)}
            check_drawn_once(earlier.counted, showing, quasi_identifying=whole.quasi_identifying)
            if rules is not None:
                hidden = tuple(name for name in private if whole.get(name) is None)  # what is private is sensitive
                protected = replace(whole, sensitive=(*whole.sensitive, *hidden))
                check_promises(earlier.counted, rules, protected, published=tuple(showing))
            reason = _why_not(earlier, None if rules is None else carrier, shown_earlier)
        except LedgerError as error:
            reason = str(error)
    if reason is not None and options.despite_ledger is None:
        raise PolicyNotSatisfiedError(f"nothing is written: {reason}")
    if reason is None and not earlier.recognised.given_up:
        options.refuse("despite_ledger", because="the ledger allows it, or nothing was released before")
    return SanitizedRecord(earlier=earlier, policy=rules, roles=whole, despite=options.despite_ledger)


def _why_not(earlier: EarlierReleases, policy: Policy | None, shown_earlier: Mapping[str, Mask | None]) -> str | None:
    """Why the public file may not be released beside earlier releases, in a sentence; None where it may.

    ``shown_earlier`` are sensitive columns that are not in it and that somebody has from before, as they were masked.
    """
    if earlier.unjoinable is not None:
        return earlier.unjoinable
    if policy is None:
        first = next(iter(earlier.counted))
        return (
            f"entry {first} ({earlier.counted[first].name}) and what left since have to be judged together with it, "
            "and there is no policy to judge by: give --policy where a mechanism is fitted, or a reason with "
            "--despite-ledger"
        )
    masks = {name: mask for name, mask in shown_earlier.items() if mask is not None}

    def judged(these: EarlierReleases) -> Together:
        seen = masked_data(these.dataset, masks).dataset if masks else these.dataset
        return these.judge(classes_of(seen, policy, these.roles, known=True), policy)

    together = judged(earlier)
    if together.satisfied and bool((together.treatment == SHOWN).all()):
        return None
    if together.satisfied:
        return (
            f"together with earlier releases {int((together.treatment != SHOWN).sum())} classes would have to be hidden"
        )
    return earlier.refusal(together, judged)


def put_on_record(
    record: SanitizedRecord,
    *,
    model: Model,
    files: Mapping[str, tuple[Path, Path]],
    certificate: dict[str, Any] | None,
    audits: Sequence[AuditedColumn],
) -> tuple[int, ...]:
    """An entry for each recipient's file, before anybody can see one; answers their numbers.

    ``files`` are drafts and names by what they hold, the public one first.
    """
    earlier, numbers = record.earlier, []
    shown_to = (model.public, *model.authorized)
    private = tuple(chain.from_iterable(sources(mechanism) for mechanism in model.mechanisms))
    for place, ((draft, out), shown) in enumerate(zip(files.values(), shown_to, strict=True)):
        columns = (*shown, *private)
        recorded = RecordedRelease(
            name=out.name,
            kind=SANITIZED,
            recipient=earlier.recipient if place == 0 else _group(place, len(model.authorized)),
            columns=tuple(name for name in earlier.source.schema.names if name in columns),
            quasi_identifying=tuple(name for name in record.roles.quasi_identifying if name in shown),
            rows=len(earlier.present),
            version=earlier.version,
            policy=None if record.policy is None else record.policy.to_mapping(),
            policy_id=None if record.policy is None else record.policy.id,
            file_sha256=hash_of(draft),
            certificate_sha256=None if certificate is None or place else digest(certificate),
            promise=promise_of(audits) if audits else None,
            sanitized=private,
            roles=record.roles.to_mapping(),
            despite=record.despite,
        )
        numbers.append(remember(earlier, recorded, earlier.named.table))
        ledger = read_ledger(earlier.path)
        assert ledger.opening is not None, "an entry was written"
        earlier = replace(earlier, ledger=ledger, opening=ledger.opening, rows=read_row_classes(earlier.path))
    return tuple(numbers)


def _group(place: int, groups: int) -> str:
    return AUTHORISED if groups == 1 else f"{AUTHORISED} {place}"


def promise_of(audits: Sequence[AuditedColumn]) -> dict[str, Any]:
    """What is proved of each column, under which assumption, and what was only audited."""
    return {
        audited.column: {
            "loss": audited.loss,
            "proved": None
            if audited.proof is None
            else {
                "confidence": audited.proof.confidence,
                "adversary_errors_at_least": [adversary.proved_loss for adversary in audited.proof.adversaries],
                "share_of_any_error_kept": audited.proof.kept_share,
                "posterior_at_most": audited.proof.posterior,
                "caps_hold_for_every_law": audited.proof.holds_for_set,
                "in_words": [*audited.proof.sides, audited.proof.where_caps_hold],
                "local_dp": audited.proof.local_dp,
                "assumptions": list(audited.proof.assumptions),
            },
            "only_audited": {
                "adversary_errors": [party.loss for party in audited.audit.adversaries],
                "authorised_errors": [group.reconstruction.loss for group in audited.groups],
                "records_determined": audited.determined,
            },
        }
        for audited in audits
    }
