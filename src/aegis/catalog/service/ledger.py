"""The ledger of a product: what left, and whether an approval or a new release may stand beside it.

The provider's own ledger, beside the table, knows the rows and decides when a release is made. This one knows what the
catalog gave out, and holds approvals and arrivals against it: by what the provider judged together on the rows, and by
what each certificate says that it was judged with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aegis.catalog import records
from aegis.catalog.database.tables import Configuration, Product, Release, Request
from aegis.catalog.records import Together
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.judged_together import offered, standings, wanted_maskings
from aegis.catalog.service.ledger_rows import counted, entries_and_head, entry_view, is_intact, judged_with
from aegis.catalog.service.permissions import Permission
from aegis.catalog.service.visible import visible_product
from aegis.errors import InputError, VerificationError
from aegis.releases.hashed_json import START
from aegis.releases.ledger_entry import ANYBODY

_NAMED = 6


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
