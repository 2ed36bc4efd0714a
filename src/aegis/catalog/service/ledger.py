"""The ledger of a product: what left, to whom and how it was masked; its rows are only ever added, in a chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from aegis.catalog import records
from aegis.catalog.database.tables import Configuration, LedgerEntry, LedgerHead, Product, Release, Request
from aegis.catalog.records import MaskedPart
from aegis.catalog.service.catalog import Work, locked, visible_product
from aegis.catalog.service.certificates import NOTHING, asks_for_all, certified_id
from aegis.catalog.service.checks import policy_of
from aegis.catalog.service.permissions import Permission
from aegis.catalog.service.seen_requests import in_state
from aegis.catalog.states import ReleaseState, RequestState
from aegis.privacy.policy import Recipients
from aegis.releases.hashed_json import START, link
from aegis.releases.ledger_entry import ANYBODY, EntryKind


def ledger(work: Work, *, product: str) -> records.ProductLedger:
    """Every release that left, to whom, whether the chain is intact, and the maskings that may be released next."""
    row = visible_product(work, product, Permission.SEE_LEDGER)
    entries, head = entries_and_head(work, row.id)
    return records.ProductLedger(
        entries=tuple(entry_view(entry) for entry in entries),
        intact=is_intact(entries, head),
        head=START if head is None else head.hash,
        wanted=tuple(wanted_maskings(work, row)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Out:
    """A release that is out and counts."""

    sequence: int
    release_id: str
    name: str
    part: MaskedPart
    digest: str
    judged_with: frozenset[str]
    recipient: str
    recipients: Recipients
    policy_id: str | None
    despite: str | None


def enter(work: Work, row: Release, *, recipient: str | None, despite: str | None) -> None:
    """Put a verified release on the ledger of its product; one that somebody else gets too is named again."""
    product = locked(work, Product, row.product_id)
    released = {entry.content["release"] for entry in entries_of(work, product.id)}
    for earlier in verified(work, product.id):  # what left before there was a ledger
        if earlier.id not in released and earlier.id != row.id:
            _append(work, product, EntryKind.RELEASED, _content(earlier, product, recipient=ANYBODY, despite=None))
    _append(work, product, EntryKind.RELEASED, _content(row, product, recipient=recipient or ANYBODY, despite=despite))


def note_withdrawal(work: Work, row: Release, *, taken: bool) -> None:
    """A release that is withdrawn before anybody took it home counts no longer; one that was taken counts for good."""
    product = locked(work, Product, row.product_id)
    entered = any(entry.content["release"] == row.id for entry in entries_of(work, product.id))
    if taken and not entered:  # it left before there was a ledger
        _append(work, product, EntryKind.RELEASED, _content(row, product, recipient=ANYBODY, despite=None))
    if not taken and entered:
        content = {"release": row.id, "reason": "withdrawn before anybody took it"}
        _append(work, product, EntryKind.FORGOTTEN, content)


def counted(work: Work, product: Product, *, recipient: str) -> list[Out]:
    """The releases that somebody who gets a release for ``recipient`` may hold too."""
    return held_beside(all_out(work, product), product, recipient=recipient)


def all_out(work: Work, product: Product) -> list[Out]:
    """Every release that is out and counts, whoever may hold it."""
    entries = entries_of(work, product.id)
    gone = {entry.content["release"] for entry in entries if entry.act == EntryKind.FORGOTTEN.value}
    released = {entry.content["release"] for entry in entries}
    listed = [_out(entry.sequence, entry.content) for entry in entries if entry.act == EntryKind.RELEASED.value]
    listed += [
        _out(0, _content(row, product, recipient=ANYBODY, despite=None))
        for row in verified(work, product.id)
        if row.id not in released
    ]
    return [release for release in listed if release.release_id not in gone]


def held_beside(out: Sequence[Out], product: Product, *, recipient: str) -> list[Out]:
    """Of what is out the releases that this recipient may hold too."""
    policy = policy_of(product)
    if policy is None or policy.recipients is Recipients.TOGETHER:
        return list(out)
    return [
        release
        for release in out
        if release.recipients is Recipients.TOGETHER  # it was promised to hold whoever else has what
        or ANYBODY in (recipient, release.recipient)
        or recipient == release.recipient
    ]


def _content(row: Release, product: Product, *, recipient: str, despite: str | None) -> dict[str, Any]:
    """What the ledger remembers of a release: names, ids, hashes and counts, never a value."""
    certificate = row.certificate
    columns = certificate["release"]["columns"]
    whole = asks_for_all(columns, product)
    content_id = certified_id(certificate)
    return {
        "release": row.id,
        "name": row.file_name,
        "recipient": recipient,
        "masking": None if content_id == NOTHING else content_id,
        "columns": None if whole else sorted(columns),
        "rows": int(certificate["release"].get("rows", 0)),
        "policy": certificate.get("policy_id"),
        "recipients": _recipients(certificate).value,
        "file_sha256": row.digest,
        "certificate_sha256": row.certificate_digest,
        "judged_with": sorted(judged_with(certificate)),
        "despite": despite,
    }


def judged_with(certificate: dict[str, Any]) -> frozenset[str]:
    stated = certificate.get("ledger")
    files = stated.get("together_with_files", []) if isinstance(stated, dict) else []
    return frozenset(file for file in files if isinstance(file, str)) if isinstance(files, list) else frozenset()


def _out(sequence: int, content: dict[str, Any]) -> Out:
    columns = content["columns"]
    return Out(
        sequence=sequence,
        release_id=content["release"],
        name=content["name"],
        part=MaskedPart(
            content_id=content["masking"] or content["file_sha256"], columns=None if columns is None else tuple(columns)
        ),
        digest=content["file_sha256"],
        judged_with=frozenset(content["judged_with"]),
        recipient=content["recipient"],
        recipients=Recipients(content.get("recipients", Recipients.TOGETHER.value)),  # old entries do not say
        policy_id=content.get("policy"),
        despite=content.get("despite"),
    )


def _recipients(certificate: dict[str, Any]) -> Recipients:
    """Who may hold a release together with others, by the policy of its certificate."""
    policy = certificate.get("policy")
    named = policy.get("recipients") if isinstance(policy, dict) else None
    return Recipients.SEPARATE if named == Recipients.SEPARATE.value else Recipients.TOGETHER


def verified(work: Work, product_id: str) -> list[Release]:
    """The releases of a product that are out, the oldest first; some left before there was a ledger."""
    return list(
        work.session.scalars(
            select(Release)
            .where(Release.product_id == product_id, Release.state == ReleaseState.VERIFIED)
            .order_by(Release.created_at, Release.id)
        )
    )


def _append(work: Work, product: Product, act: EntryKind, content: dict[str, Any]) -> None:
    """Add to the end; the product is locked, so nobody else does."""
    head = work.session.get(LedgerHead, product.id, populate_existing=True)
    if head is None:
        head = LedgerHead(product_id=product.id, sequence=0, hash=START)
        work.session.add(head)
    sequence = head.sequence + 1
    row = LedgerEntry(
        product_id=product.id, sequence=sequence, at=work.now, act=act.value, content=content, previous=head.hash
    )
    row.hash = _hash(row)
    work.session.add(row)
    head.sequence, head.hash = sequence, row.hash
    work.session.flush()
    work.record(
        "ledger entry added",
        ("release", content["release"]),
        product_id=product.id,
        entry=act.value,
        number=sequence,
        hash=row.hash,
        despite=content.get("despite"),
    )


def _hash(row: LedgerEntry) -> str:
    at = row.at.isoformat(timespec="microseconds")
    said = {"product": row.product_id, "sequence": row.sequence, "at": at, "act": row.act, "content": row.content}
    return link(row.previous, said)


def entries_of(work: Work, product_id: str) -> list[LedgerEntry]:
    query = select(LedgerEntry).where(LedgerEntry.product_id == product_id)
    return list(work.session.scalars(query.order_by(LedgerEntry.sequence)))


def entries_and_head(work: Work, product_id: str) -> tuple[list[LedgerEntry], LedgerHead | None]:
    """All entries and where they end, of one moment: read one after the other, an entry between them looks forged."""
    query = (
        select(LedgerHead, LedgerEntry)
        .select_from(Product)
        .outerjoin(LedgerHead, LedgerHead.product_id == Product.id)
        .outerjoin(LedgerEntry, LedgerEntry.product_id == Product.id)
        .where(Product.id == product_id)
        .order_by(LedgerEntry.sequence)
    )
    rows = work.session.execute(query, execution_options={"populate_existing": True}).all()
    return [entry for _, entry in rows if entry is not None], rows[0][0] if rows else None


def is_intact(entries: Sequence[LedgerEntry], head: LedgerHead | None) -> bool:
    previous = START
    for number, entry in enumerate(entries, start=1):
        if entry.sequence != number or entry.previous != previous or entry.hash != _hash(entry):
            return False
        previous = entry.hash
    end = (0, START) if head is None else (head.sequence, head.hash)
    return end == (len(entries), previous)


def entry_view(entry: LedgerEntry) -> records.LedgerEntry:
    content = entry.content
    released = entry.act == EntryKind.RELEASED.value
    return records.LedgerEntry(
        sequence=entry.sequence,
        at=entry.at,
        act=entry.act,
        release_id=content["release"],
        name=content.get("name", ""),
        recipient=content.get("recipient", ""),
        part=_out(entry.sequence, content).part if released else None,
        rows=int(content.get("rows", 0)),
        despite=content.get("despite"),
        reason=content.get("reason"),
        hash=entry.hash,
    )


def offered(work: Work, product_id: str) -> list[Configuration]:
    """The configurations of a product that may be approved, by name."""
    return list(
        work.session.scalars(
            select(Configuration)
            .where(Configuration.product_id == product_id, Configuration.withdrawn_at.is_(None))
            .order_by(Configuration.name, Configuration.id)
        )
    )


def wanted_maskings(work: Work, product: Product) -> list[MaskedPart]:
    """Every masking there is, of all columns and of those that waiting requests ask for."""
    content_ids = [configuration.content_id for configuration in offered(work, product.id)]
    waiting = work.session.scalars(
        select(Request.columns).where(Request.product_id == product.id, in_state(RequestState.PENDING, work.now))
    ).all()
    shapes: list[tuple[str, ...] | None] = [None]
    shapes += [tuple(sorted(columns)) for columns in waiting if not asks_for_all(columns, product)]
    return [
        MaskedPart(content_id=content_id, columns=columns)
        for columns in dict.fromkeys(shapes)
        for content_id in content_ids
    ]
