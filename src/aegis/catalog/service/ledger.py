"""The ledger of a product: what left, to whom and how it was masked, as rows that are only ever added.

The provider's own ledger, beside the table, knows the rows and decides when a release is made. This one knows what the
catalog gave out, and holds approvals and arrivals against it: by what the provider judged together on the rows, and by
what each certificate says that it was judged with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from aegis.catalog import records
from aegis.catalog.database.ledger_tables import JointVerdict, LedgerEntry, LedgerHead
from aegis.catalog.database.tables import Configuration, Product, Release, Request
from aegis.catalog.records import MaskedPart, Together
from aegis.catalog.service.asked_columns import asks_for_all
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.certificates import NOTHING, certified_id
from aegis.catalog.service.checks import checked_whole
from aegis.catalog.service.disclosure import shown_count
from aegis.catalog.service.notifications import NotificationKind, deciders, notify_of_request
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.request_steps import in_state
from aegis.catalog.service.schema import policy_of
from aegis.catalog.service.visible import by_id, visible_product
from aegis.catalog.states import ReleaseState, RequestState
from aegis.errors import ConflictError, InputError, NotFoundError, VerificationError
from aegis.privacy.policy import Recipients
from aegis.releases.hash_chain import START, link
from aegis.releases.ledger_entry import ANYBODY, Act

MOST_VERDICTS = 5_000
_MOST_PARTS = 50
_MOST_APPROVALS = 200
_NAMED = 6
_KEYS_AT_ONCE = 500


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
    linkable: bool


def enter(work: Work, row: Release, *, recipient: str | None, despite: str | None) -> None:
    """Put a verified release on the ledger of its product; one that somebody else gets too is named again."""
    product = by_id(work, Product, row.product_id, lock=True)
    assert product is not None
    _enter_earlier(work, product, besides=row.id)
    _append(work, product, Act.RELEASED, _content(row, product, recipient=recipient or ANYBODY, despite=despite))


def note_withdrawal(work: Work, row: Release, *, taken: bool) -> None:
    """A release that is withdrawn before anybody took it home counts no longer; one that was taken counts for good."""
    product = by_id(work, Product, row.product_id, lock=True)
    assert product is not None
    entered = any(entry.content["release"] == row.id for entry in _entries(work, product.id))
    if taken and not entered:  # it left before there was a ledger
        _append(work, product, Act.RELEASED, _content(row, product, recipient=ANYBODY, despite=None))
    if not taken and entered:
        content = {"release": row.id, "reason": "withdrawn before anybody took it"}
        _append(work, product, Act.FORGOTTEN, content)


def ledger(work: Work, *, product: str) -> records.ProductLedger:
    """What left of a product, and the maskings that may leave next: for its providers and experts."""
    row = visible_product(work, product)
    require(work.actor, Permission.SEE_LEDGER, row.id)
    entries = _entries(work, row.id)
    head = work.session.get(LedgerHead, row.id)
    return records.ProductLedger(
        entries=tuple(_view(entry) for entry in entries),
        intact=_is_intact(entries, head),
        head=START if head is None else head.hash,
        wanted=tuple(_wanted(work, row)),
    )


def judge_together(work: Work, *, product: str, policy_id: str, verdicts: Iterable[records.JointVerdict]) -> int:
    """Take what the provider found on the rows; a verdict on the same maskings takes the place of an older one."""
    row = visible_product(work, product)
    require(work.actor, Permission.JUDGE_TOGETHER, row.id)
    policy = policy_of(row)
    if policy is None or policy.id != policy_id:
        raise ConflictError("the product has another policy by now; judge again under that one")
    listed = list(verdicts)
    checked_whole(len(listed), what="the number of verdicts", least=1, most=MOST_VERDICTS)
    assert work.actor.user_id is not None
    for verdict in listed:
        if not 2 <= len(verdict.parts) <= _MOST_PARTS or verdict.satisfied != (not verdict.broken):
            raise InputError("a verdict names at least two maskings, and a broken model exactly if it is not satisfied")
        key = _key(policy_id, verdict.parts)
        kept = work.session.get(JointVerdict, (row.id, key))
        if kept is None:
            kept = JointVerdict(product_id=row.id, key=key)
            work.session.add(kept)
        kept.satisfied = verdict.satisfied
        kept.broken = [{"model": each.model[:120], "records": int(each.records)} for each in verdict.broken[:20]]
        kept.judged_by, kept.judged_at = work.actor.user_id, work.now
    work.session.flush()
    _tell_of_broken_approvals(work, row)
    work.record(
        "maskings judged together", subject="product", subject_id=row.id, product_id=row.id, verdicts=len(listed)
    )
    return len(listed)


def tell_refused(work: Work, request: Request) -> None:
    """Tell those who decide that what they approved cannot leave beside what is out: it is their turn again."""
    words = (
        "What was approved for {consumer} of {product} is refused by the ledger, because of what is out; revoke it and "
        "let another masking be asked for."
    )
    notify_of_request(work, deciders(work, request.product_id), NotificationKind.LEDGER_REFUSED, request, words)


def _tell_of_broken_approvals(work: Work, product: Product) -> None:
    """Approvals that wait for their release and break the policy with what is out, as the provider found just now."""
    if not work.settings.releases_judged_together:
        return
    waiting = work.session.scalars(
        select(Request)
        .where(Request.product_id == product.id, in_state(RequestState.APPROVED, work.now), Request.despite.is_(None))
        .order_by(Request.changed_at)
        .limit(_MOST_APPROVALS)
    ).all()
    for request in waiting:
        approved = work.session.get(Configuration, request.configuration_id)
        if approved is None:
            continue
        standing = standings(work, product, [approved], request)[approved.id]
        if standing.standing is Together.BROKEN:
            tell_refused(work, request)


def part_of(configuration: Configuration, request: Request, product: Product) -> MaskedPart:
    """What a release for a request would show."""
    whole = asks_for_all(request.columns, product)
    return MaskedPart(content_id=configuration.content_id, columns=None if whole else tuple(sorted(request.columns)))


def standings(
    work: Work, product: Product, configurations: Iterable[Configuration], request: Request
) -> dict[str, records.TogetherStanding]:
    """How maskings stand to what is out, by the id of the configuration, for the consumer and columns of a request."""
    out = counted(work, product, recipient=request.consumer_id)
    policy = policy_of(product)
    listed = list(configurations)
    if policy is None or not out:
        said = "nothing is out yet" if not out else "the product has no policy"
        return {each.id: records.TogetherStanding(standing=Together.ALLOWED, said=said) for each in listed}
    parts = {each.id: part_of(each, request, product) for each in listed}
    verdicts = _verdicts(work, product.id, policy.id, list(parts.values()), out)
    judged = {ident: _stands(verdicts, policy.id, part, out) for ident, part in parts.items()}
    free = [each.name for each in listed if judged[each.id][0] is Together.ALLOWED]
    return {
        ident: records.TogetherStanding(
            standing=standing, said=f"{words}; {_instead(free, out)}" if standing is Together.BROKEN else words
        )
        for ident, (standing, words) in judged.items()
    }


def standings_for(work: Work, *, request_id: str) -> dict[str, records.TogetherStanding]:
    """How each masking that may be approved for a request stands to what is out: what its experts see."""
    request = by_id(work, Request, request_id)
    if request is None:
        raise NotFoundError("there is no such request; look at the list of requests")
    require(work.actor, Permission.SEE_LEDGER, request.product_id)
    product = work.session.get_one(Product, request.product_id)
    return standings(work, product, offered(work, product.id), request)


def unjudged(work: Work, product: Product) -> tuple[str, ...]:
    """Keys of maskings that nobody judged together with all that is out; empty where nothing is out."""
    policy = policy_of(product)
    shown = list(dict.fromkeys(each.part for each in counted(work, product, recipient=ANYBODY)))
    if policy is None or not shown:
        return ()
    keys = [_key(policy.id, [*shown, part]) for part in _wanted(work, product) if part not in shown]
    known = set(
        work.session.scalars(
            select(JointVerdict.key).where(JointVerdict.product_id == product.id, JointVerdict.key.in_(keys))
        )
    )
    return tuple(key for key in keys if key not in known)


def offered(work: Work, product_id: str) -> list[Configuration]:
    """The configurations of a product that may be approved, by name."""
    return list(
        work.session.scalars(
            select(Configuration)
            .where(Configuration.product_id == product_id, Configuration.withdrawn_at.is_(None))
            .order_by(Configuration.name, Configuration.id)
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """How a masking that is approved stands to what is out.

    ``despite`` is the reason where it breaks the policy together with that; ``unjudged`` says that nobody judged it.
    """

    despite: str | None = None
    unjudged: bool = False


def check_approval(
    work: Work, product: Product, configuration: Configuration, request: Request, *, despite: str | None
) -> Approval:
    """Raise where a masking breaks the policy together with what is out, unless a reason is given.

    What nobody judged yet passes here, on the record: the provider's own ledger decides when the release is made, and
    the catalog takes only one whose certificate says that it was judged with everything that is out.
    """
    if not work.settings.releases_judged_together:
        return Approval()
    standing = standings(work, product, offered(work, product.id), request)[configuration.id]
    if standing.standing is not Together.BROKEN:
        if despite:
            raise InputError("the ledger allows this masking or does not know it; leave the reason against it out")
        return Approval(unjudged=standing.standing is Together.UNKNOWN)
    if not despite:
        raise VerificationError(standing.said)
    return Approval(despite=despite)


def check_arrival(
    work: Work, product: Product, *, certificate: dict[str, Any], digest: str, request: Request | None
) -> str | None:
    """Raise unless the certificate says that the release was judged with everything of the product that is out.

    Of two releases the one that was made later was judged with the other. Gives the reason where it left despite its
    ledger: that needs an approval which says so too.
    """
    said = certificate.get("ledger")
    despite = said.get("despite") if isinstance(said, dict) else None
    despite = str(despite)[:2_000] if despite else None
    approved = request is not None and request.despite is not None
    if not work.settings.releases_judged_together or approved:
        return despite or (request.despite if request is not None else None)
    if despite is not None and request is not None:
        raise VerificationError(
            "the release left although the provider's ledger did not allow it, and the approval does not say so; an "
            "expert has to decide about that"
        )
    mine = _judged_with(certificate)
    recipient = ANYBODY if request is None else request.consumer_id
    unseen = [
        each
        for each in counted(work, product, recipient=recipient)
        if each.digest != digest and each.digest not in mine and digest not in each.judged_with
    ]
    if unseen and despite is None:
        names = ", ".join(f"{each.name} ({each.release_id[:8]})" for each in unseen[:_NAMED])
        raise VerificationError(
            f"the certificate does not say that it was judged together with what is out of the product ({names}); "
            "release it with the ledger of the table, or have it approved despite the ledger"
        )
    return despite


def check_fulfilment(work: Work, product: Product, request: Request, release: Release) -> None:
    """Raise unless a release that is there already may go to one more consumer, beside what that one holds by now."""
    if not work.settings.releases_judged_together or request.despite is not None:
        return
    approved = work.session.get_one(Configuration, request.configuration_id)
    standing = standings(work, product, [approved], request)[approved.id]
    if standing.standing is Together.BROKEN:
        raise VerificationError(standing.said)
    if standing.standing is Together.UNKNOWN:
        check_arrival(work, product, certificate=release.certificate, digest=release.digest, request=request)


def counted(work: Work, product: Product, *, recipient: str) -> list[Out]:
    """The releases that somebody who gets a release for ``recipient`` may hold too."""
    policy = policy_of(product)
    together = policy is None or policy.recipients is Recipients.TOGETHER
    entries = _entries(work, product.id)
    gone = {entry.content["release"] for entry in entries if entry.act == Act.FORGOTTEN.value}
    known = {entry.content["release"] for entry in entries}
    listed = [_out(entry.sequence, entry.content) for entry in entries if entry.act == Act.RELEASED.value]
    listed += [
        _out(0, _content(row, product, recipient=ANYBODY, despite=None))
        for row in _earlier(work, product.id)
        if row.id not in known
    ]
    return [
        each
        for each in listed
        if each.release_id not in gone
        and each.linkable
        and (together or ANYBODY in (recipient, each.recipient) or recipient == each.recipient)
    ]


def _tried_with(part: MaskedPart, out: Sequence[Out]) -> list[list[MaskedPart]]:
    """The sets of maskings whose verdicts say how one stands: with all that is out, and with each alone."""
    shown = list(dict.fromkeys(each.part for each in out))
    whole = MaskedPart(content_id=part.content_id)
    return [[*shown, part], [*shown, whole], *([each, part] for each in shown)]


def _verdicts(
    work: Work, product_id: str, policy_id: str, parts: Sequence[MaskedPart], out: Sequence[Out]
) -> dict[str, JointVerdict]:
    """What is known of these maskings and what is out, by key: asked for once, however many there are."""
    keys = sorted({_key(policy_id, tried) for part in parts for tried in _tried_with(part, out)})
    found: dict[str, JointVerdict] = {}
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        wanted = keys[start : start + _KEYS_AT_ONCE]
        asked = select(JointVerdict).where(JointVerdict.product_id == product_id, JointVerdict.key.in_(wanted))
        found |= {verdict.key: verdict for verdict in work.session.scalars(asked)}
    return found


def _stands(
    verdicts: Mapping[str, JointVerdict], policy_id: str, part: MaskedPart, out: Sequence[Out]
) -> tuple[Together, str]:
    if any(each.part == part for each in out):
        same = next(each for each in out if each.part == part)
        return Together.ALLOWED, f"the same as {same.name} again"

    def verdict_on(parts: Sequence[MaskedPart]) -> JointVerdict | None:
        return None if len(set(parts)) < 2 else verdicts.get(_key(policy_id, parts))

    shown = list(dict.fromkeys(each.part for each in out))
    for mine in dict.fromkeys((part, MaskedPart(content_id=part.content_id))):
        verdict = verdict_on([*shown, mine])
        if verdict is not None and verdict.satisfied:
            return Together.ALLOWED, "judged together with what is out: the policy holds"
        if verdict is not None and mine == part:
            breaking = [
                each for each in out if (pair := verdict_on([each.part, part])) is not None and not pair.satisfied
            ]
            return Together.BROKEN, _broken_words(verdict, breaking or out)
    for each in out:
        pair = verdict_on([each.part, part])
        if pair is not None and not pair.satisfied:
            return Together.BROKEN, _broken_words(pair, [each])
    return Together.UNKNOWN, "nobody judged it together with what is out yet; the provider's ledger decides"


def _broken_words(verdict: JointVerdict, with_which: Sequence[Out]) -> str:
    names = ", ".join(dict.fromkeys(each.name for each in with_which[:_NAMED]))
    models = ", ".join(
        f"{each['model']} (for {count if (count := shown_count(each['records'])) else 'fewer than 5'} records)"
        for each in verdict.broken
    )
    return f"together with {names}, which is out, it breaks {models}"


def _instead(free: Sequence[str], out: Sequence[Out]) -> str:
    again = ", ".join(dict.fromkeys(each.name for each in out[:_NAMED]))
    if free:
        return f"allowed are {', '.join(free[:_NAMED])}"
    return f"allowed is what is out again ({again}), or a masking that the provider finds under the ledger"


def _key(policy_id: str, parts: Sequence[MaskedPart]) -> str:
    """The same for the same maskings in any order, under one policy."""
    named = sorted({json.dumps([part.content_id, part.columns and sorted(part.columns)]) for part in parts})
    return hashlib.sha256(json.dumps([policy_id, named]).encode()).hexdigest()


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
        "file_sha256": row.digest,
        "certificate_sha256": row.certificate_digest,
        "judged_with": sorted(_judged_with(certificate)),
        "linkable": certificate.get("kind") != "synthetic",
        "despite": despite,
    }


def _judged_with(certificate: dict[str, Any]) -> frozenset[str]:
    said = certificate.get("ledger")
    files = said.get("together_with_files", []) if isinstance(said, dict) else []
    return frozenset(each for each in files if isinstance(each, str)) if isinstance(files, list) else frozenset()


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
        linkable=bool(content["linkable"]),
    )


def _earlier(work: Work, product_id: str) -> list[Release]:
    """The verified releases of a product, the oldest first: those from before there was a ledger are entered late."""
    return list(
        work.session.scalars(
            select(Release)
            .where(Release.product_id == product_id, Release.state == ReleaseState.VERIFIED.value)
            .order_by(Release.created_at, Release.id)
        )
    )


def _enter_earlier(work: Work, product: Product, *, besides: str) -> None:
    known = {entry.content["release"] for entry in _entries(work, product.id)}
    for row in _earlier(work, product.id):
        if row.id not in known and row.id != besides:
            _append(work, product, Act.RELEASED, _content(row, product, recipient=ANYBODY, despite=None))


def _append(work: Work, product: Product, act: Act, content: dict[str, Any]) -> None:
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
        subject="release",
        subject_id=content["release"],
        product_id=product.id,
        entry=act.value,
        number=sequence,
        hash=row.hash,
        despite=content.get("despite"),
    )


def _hash(row: LedgerEntry) -> str:
    said = {
        "product": row.product_id,
        "sequence": row.sequence,
        "at": row.at.isoformat(timespec="microseconds"),
        "act": row.act,
        "content": row.content,
    }
    return link(row.previous, said)


def _entries(work: Work, product_id: str) -> list[LedgerEntry]:
    query = select(LedgerEntry).where(LedgerEntry.product_id == product_id)
    return list(work.session.scalars(query.order_by(LedgerEntry.sequence)))


def _is_intact(entries: Sequence[LedgerEntry], head: LedgerHead | None) -> bool:
    previous = START
    for number, entry in enumerate(entries, start=1):
        if entry.sequence != number or entry.previous != previous or entry.hash != _hash(entry):
            return False
        previous = entry.hash
    return (
        (len(entries), previous) == (0, START)
        if head is None
        else (head.sequence, head.hash) == (len(entries), previous)
    )


def _view(entry: LedgerEntry) -> records.LedgerEntry:
    content = entry.content
    released = entry.act == Act.RELEASED.value
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


def _wanted(work: Work, product: Product) -> list[MaskedPart]:
    """Every masking there is, of all columns and of those that waiting requests ask for."""
    content_ids = [each.content_id for each in offered(work, product.id)]
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
