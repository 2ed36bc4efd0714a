"""How maskings stand to earlier releases, by what the provider judged together on the rows.

The provider's own ledger, beside the table, knows the rows and decides when a release is made. The catalog knows what
it gave out, and holds approvals and arrivals against that: by what the provider judged together, and by what each
certificate says that it was judged with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from aegis.catalog import records
from aegis.catalog.database.tables import Configuration, JointVerdict, Product, Release, Request
from aegis.catalog.records import MaskedPart, Together
from aegis.catalog.service.catalog import Work, by_id, visible_product
from aegis.catalog.service.certificates import asks_for_all
from aegis.catalog.service.checks import checked_whole, policy_of
from aegis.catalog.service.ledger import Out, all_out, counted, held_beside, judged_with, offered, wanted_maskings
from aegis.catalog.service.notifications import NotificationKind, deciders, notify_of_request
from aegis.catalog.service.permissions import Permission, require
from aegis.catalog.service.seen_requests import in_state
from aegis.catalog.states import RequestState
from aegis.counts.disclosure_rule import count_words
from aegis.errors import ConflictError, InputError, NotFoundError, VerificationError
from aegis.releases.ledger_entry import ANYBODY

MOST_VERDICTS = 5_000
_MOST_PARTS = 50
_MOST_APPROVALS = 200
_NAMED = 6
_KEYS_AT_ONCE = 500


def judge_together(work: Work, *, product: str, policy_id: str, verdicts: Iterable[records.JointVerdict]) -> int:
    """Take what the provider found on the rows; a verdict on the same maskings takes the place of an older one."""
    row = visible_product(work, product, Permission.JUDGE_TOGETHER)
    policy = policy_of(row)
    if policy is None or policy.id != policy_id:
        raise ConflictError("the product has another policy by now; judge again under that one")
    listed = list(verdicts)
    checked_whole(len(listed), what="the number of verdicts", least=1, most=MOST_VERDICTS)
    for verdict in listed:
        if not 2 <= len(verdict.parts) <= _MOST_PARTS or verdict.satisfied != (not verdict.broken):
            raise InputError("a verdict names at least two maskings, and a broken model exactly if it is not satisfied")
        key = _key(policy_id, verdict.parts)
        stored = work.session.get(JointVerdict, (row.id, key))
        if stored is None:
            stored = JointVerdict(product_id=row.id, key=key)
            work.session.add(stored)
        stored.satisfied = verdict.satisfied
        stored.broken = [{"model": model.model[:120], "records": int(model.records)} for model in verdict.broken[:20]]
        stored.judged_by, stored.judged_at = work.user_id, work.now
    work.session.flush()
    _notify_of_broken_approvals(work, row)
    work.record("maskings judged together", row, verdicts=len(listed))
    return len(listed)


def notify_refused(work: Work, request: Request) -> None:
    """Notify those who decide that earlier releases refuse what they approved: it is their turn again."""
    words = (
        "What was approved for {consumer} of {product} is refused by the ledger, because of earlier releases; revoke "
        "it and let another masking be asked for."
    )
    notify_of_request(work, deciders(work, request.product_id), NotificationKind.LEDGER_REFUSED, request, words)


def _notify_of_broken_approvals(work: Work, product: Product) -> None:
    """Approvals that wait for their release and, as was found just now, break the policy with earlier releases."""
    if not work.settings.releases_judged_together:
        return
    waiting = work.session.scalars(
        select(Request)
        .where(Request.product_id == product.id, in_state(RequestState.APPROVED, work.now), Request.despite.is_(None))
        .order_by(Request.changed_at)
        .limit(_MOST_APPROVALS)
    ).all()
    if not waiting:
        return
    used = {request.configuration_id for request in waiting}
    approved = {row.id: row for row in work.session.scalars(select(Configuration).where(Configuration.id.in_(used)))}
    out = all_out(work, product)
    for request in waiting:
        configuration = approved[str(request.configuration_id)]
        held = held_beside(out, product, recipient=request.consumer_id)
        if standings(work, product, [configuration], request, held=held)[configuration.id].standing is Together.BROKEN:
            notify_refused(work, request)


def part_of(configuration: Configuration, request: Request, product: Product) -> MaskedPart:
    """What a release for a request would show."""
    whole = asks_for_all(request.columns, product)
    return MaskedPart(content_id=configuration.content_id, columns=None if whole else tuple(sorted(request.columns)))


def standings(
    work: Work,
    product: Product,
    configurations: Iterable[Configuration],
    request: Request,
    *,
    held: Sequence[Out] | None = None,
) -> dict[str, records.TogetherStanding]:
    """How maskings stand to earlier releases, by the id of the configuration, for the consumer and columns of a
    request. ``held`` is what that consumer may hold, where it is known already."""
    out = counted(work, product, recipient=request.consumer_id) if held is None else held
    policy = policy_of(product)
    listed = list(configurations)
    if policy is None or not out:
        reason = "nothing was released yet" if not out else "the product has no policy"
        return {
            configuration.id: records.TogetherStanding(standing=Together.ALLOWED, said=reason)
            for configuration in listed
        }
    parts = {configuration.id: part_of(configuration, request, product) for configuration in listed}
    promised = sorted({release.policy_id for release in out if release.policy_id is not None} - {policy.id})
    verdicts = _verdicts(work, product.id, [policy.id, *promised], list(parts.values()), out)
    judged = {
        ident: _stands(verdicts, part, out, policy_id=policy.id, promised=promised) for ident, part in parts.items()
    }
    free = [configuration.name for configuration in listed if judged[configuration.id][0] is Together.ALLOWED]
    return {
        ident: records.TogetherStanding(
            standing=standing, said=f"{words}; {_instead(free, out)}" if standing is Together.BROKEN else words
        )
        for ident, (standing, words) in judged.items()
    }


def standings_for(work: Work, *, request_id: str) -> dict[str, records.TogetherStanding]:
    """How each masking that may be approved for a request stands to earlier releases: what its experts see."""
    request = by_id(work, Request, request_id)
    if request is None:
        raise NotFoundError("there is no such request; look at the list of requests")
    require(work.actor, Permission.SEE_LEDGER, request.product_id)
    product = work.session.get_one(Product, request.product_id)
    return standings(work, product, offered(work, product.id), request)


def unjudged(work: Work, product: Product) -> tuple[str, ...]:
    """Keys of maskings that nobody judged with all earlier releases; empty where nothing was released before."""
    policy = policy_of(product)
    shown = list(dict.fromkeys(release.part for release in counted(work, product, recipient=ANYBODY)))
    if policy is None or not shown:
        return ()
    keys = [_key(policy.id, [*shown, part]) for part in wanted_maskings(work, product) if part not in shown]
    judged = set(
        work.session.scalars(
            select(JointVerdict.key).where(JointVerdict.product_id == product.id, JointVerdict.key.in_(keys))
        )
    )
    return tuple(key for key in keys if key not in judged)


def _tried_with(part: MaskedPart, out: Sequence[Out]) -> list[list[MaskedPart]]:
    """The sets of maskings whose verdicts say how one stands: with all earlier releases, and with each alone."""
    shown = list(dict.fromkeys(release.part for release in out))
    whole = MaskedPart(content_id=part.content_id)
    return [[*shown, part], [*shown, whole], *([other, part] for other in shown)]


def _verdicts(
    work: Work, product_id: str, policy_ids: Sequence[str], parts: Sequence[MaskedPart], out: Sequence[Out]
) -> dict[str, JointVerdict]:
    """What is known of these maskings and earlier releases, by key: asked for once, however many there are."""
    keys = sorted({_key(ident, tried) for part in parts for tried in _tried_with(part, out) for ident in policy_ids})
    verdicts: dict[str, JointVerdict] = {}
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        some = keys[start : start + _KEYS_AT_ONCE]
        query = select(JointVerdict).where(JointVerdict.product_id == product_id, JointVerdict.key.in_(some))
        verdicts |= {verdict.key: verdict for verdict in work.session.scalars(query)}
    return verdicts


def _stands(
    verdicts: Mapping[str, JointVerdict],
    part: MaskedPart,
    out: Sequence[Out],
    *,
    policy_id: str,
    promised: Sequence[str],
) -> tuple[Together, str]:
    """By the present policy, and by those that earlier releases were ``promised`` under: changing one takes nothing
    back."""
    same = [release for release in out if release.part == part]
    if same and all(release.despite for release in same):
        return Together.BROKEN, f"the same as {same[0].name} again, which left although the ledger did not allow it"
    if same:
        return Together.ALLOWED, f"the same as {next(release for release in same if not release.despite).name} again"
    for earlier in promised:
        standing, words = _judged_under(verdicts, earlier, part, out)
        if standing is Together.BROKEN:
            return standing, f"{words}, by the policy that was promised then"
    return _judged_under(verdicts, policy_id, part, out)


def _judged_under(
    verdicts: Mapping[str, JointVerdict], policy_id: str, part: MaskedPart, out: Sequence[Out]
) -> tuple[Together, str]:
    """How a masking stands by the verdicts under one policy."""

    def verdict_on(parts: Sequence[MaskedPart]) -> JointVerdict | None:
        return None if len(set(parts)) < 2 else verdicts.get(_key(policy_id, parts))

    shown = list(dict.fromkeys(release.part for release in out))
    for mine in dict.fromkeys((part, MaskedPart(content_id=part.content_id))):
        verdict = verdict_on([*shown, mine])
        if verdict is not None and verdict.satisfied:
            return Together.ALLOWED, "judged together with earlier releases: the policy holds"
        if verdict is not None and mine == part:
            breaking = [
                release
                for release in out
                if (pair := verdict_on([release.part, part])) is not None and not pair.satisfied
            ]
            return Together.BROKEN, _broken_words(verdict, breaking or out)
    for release in out:
        pair = verdict_on([release.part, part])
        if pair is not None and not pair.satisfied:
            return Together.BROKEN, _broken_words(pair, [release])
    return Together.UNKNOWN, "nobody judged it together with earlier releases yet; the provider's ledger decides"


def _broken_words(verdict: JointVerdict, with_which: Sequence[Out]) -> str:
    names = ", ".join(dict.fromkeys(release.name for release in with_which[:_NAMED]))
    models = ", ".join(f"{model['model']} (for {count_words(model['records'])} records)" for model in verdict.broken)
    return f"together with {names}, which is out, it breaks {models}"


def _instead(free: Sequence[str], out: Sequence[Out]) -> str:
    again = ", ".join(dict.fromkeys(release.name for release in out[:_NAMED]))
    if free:
        return f"allowed are {', '.join(free[:_NAMED])}"
    return f"allowed is an earlier one again ({again}), or a masking that the provider finds under the ledger"


def _key(policy_id: str, parts: Sequence[MaskedPart]) -> str:
    """The same for the same maskings in any order, under one policy."""
    named = sorted({json.dumps([part.content_id, part.columns and sorted(part.columns)]) for part in parts})
    return hashlib.sha256(json.dumps([policy_id, named]).encode()).hexdigest()


# What may be approved, arrive, and fulfil a request, beside earlier releases


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """How a masking that is approved stands to earlier releases.

    ``despite`` is the reason where it breaks the policy together with that; ``unjudged`` says that nobody judged it.
    """

    despite: str | None = None
    unjudged: bool = False


def check_approval(
    work: Work, product: Product, configuration: Configuration, request: Request, *, despite: str | None
) -> Approval:
    """Raise where a masking breaks the policy together with earlier releases, unless a reason is given.

    What nobody judged yet passes here, on the record: the provider's own ledger decides when the release is made, and
    the catalog takes only one whose certificate says that it was judged with all earlier releases.
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
    """Raise unless the certificate says that the release was judged with all earlier releases.

    Of two releases the one that was made later was judged with the other. Gives the reason where it left despite its
    ledger: that needs an approval which says so too, so nothing leaves in that way for nobody in particular. Whoever
    enters the release afterwards has locked the product before this: of two that arrive at once one sees the other.
    """
    despite = _despite(certificate)
    approved = request is not None and request.despite is not None
    if not work.settings.releases_judged_together or approved:
        return despite or (request.despite if request is not None else None)
    if despite is not None:
        raise VerificationError(_NOT_DECIDED)
    mine = judged_with(certificate)
    recipient = ANYBODY if request is None else request.consumer_id
    unseen = [
        release
        for release in counted(work, product, recipient=recipient)
        if release.digest != digest and release.digest not in mine and digest not in release.judged_with
    ]
    if unseen:
        names = ", ".join(f"{release.name} ({release.release_id[:8]})" for release in unseen[:_NAMED])
        raise VerificationError(
            "the certificate does not say that it was judged together with the earlier releases of the product "
            f"({names}); "
            "release it with the ledger of the table, or have it approved despite the ledger"
        )
    return None


def check_fulfilment(work: Work, product: Product, request: Request, release: Release) -> None:
    """Raise unless a release that is there already may go to one more consumer, beside what that one holds by now."""
    if not work.settings.releases_judged_together or request.despite is not None:
        return
    if _despite(release.certificate) is not None:
        raise VerificationError(_NOT_DECIDED)
    approved = work.session.get_one(Configuration, request.configuration_id)
    standing = standings(work, product, [approved], request)[approved.id]
    if standing.standing is Together.BROKEN:
        raise VerificationError(standing.said)
    if standing.standing is Together.UNKNOWN:
        check_arrival(work, product, certificate=release.certificate, digest=release.digest, request=request)


def _despite(certificate: dict[str, Any]) -> str | None:
    """The provider's own reason to release although their ledger did not allow it."""
    stated = certificate.get("ledger")
    reason = stated.get("despite") if isinstance(stated, dict) else None
    return None if reason is None else str(reason)[:2_000] or "no reason given"


_NOT_DECIDED = (
    "the release left although the provider's ledger did not allow it, and no approval says so; an expert has to "
    "decide about that, for a request"
)
