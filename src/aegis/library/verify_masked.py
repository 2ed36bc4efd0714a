"""Hold the columns, every value and the numbers of records of a release against its certificate.

Masks and boxes end in the same checks: the columns are those that are named, an identifying column shows nothing,
every value of a masked column is one that its mask writes, and the suppressed records are as many as are stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aegis.data.dataset import Dataset
from aegis.data.schema import Role, Roles
from aegis.errors import RoleError, VerificationError
from aegis.library.identifying_masks import check_identifying
from aegis.library.masked_data import all_masks
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import LABELS_ID, certified_configuration
from aegis.masking.mask import Mask
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.suppress import Nullify, Suppress
from aegis.masking.written_labels import labels_of
from aegis.plural import count as plural
from aegis.privacy.policy import Policy, Suppressed
from aegis.releases.certificate_kinds import CertificateKind
from aegis.releases.fit import links_of
from aegis.releases.image import ImageCheck, check_image, stars_all


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """How many records there are and were, as a certificate states."""

    rows: int
    of_source: int
    suppressed: int
    waiting: int
    dropped: bool


def check_masked(table: Dataset, content: Mapping[str, Any], kind: CertificateKind, policy: Policy) -> str:
    """What was found of the masking; raises `VerificationError` where it is not what the certificate states."""
    columns = list(content["release"]["columns"])
    if list(table.schema.names) != columns:
        apart = ", ".join(repr(name) for name in sorted(set(table.schema.names) ^ set(columns)))
        raise VerificationError(
            "the release does not have the columns that its certificate names"
            + (f": they differ in {apart}" if apart else ", in that order")
        )
    counts = _counts(content, policy)
    roles = certified_roles(content)
    masks = certified_masks(content, kind)
    try:
        check_identifying(roles, {name: mask for name, mask in masks.items() if name in table.schema})
    except RoleError as error:
        raise VerificationError(str(error)) from None
    if policy.unit is not None and policy.unit in table.schema and not _hides(masks.get(policy.unit)):
        raise VerificationError(
            f"people are counted by {policy.unit!r}, and the release shows something of it: which records belong "
            "together"
        )
    image = check_image(table.table, masks, quasi_identifying=roles.quasi_identifying)
    if image.reason is not None:
        raise VerificationError(image.reason)
    if kind is CertificateKind.BOXES or content["configuration"].get("masks"):  # else it may have had stars before
        _check_starred(table, roles, masks, image, counts)
    if counts.rows + (counts.suppressed if counts.dropped else 0) + counts.waiting != counts.of_source:
        raise VerificationError("the release and its suppressed records are not as many as the source's")
    if kind is CertificateKind.BOXES:
        return "the columns are those it names; which box each value is, --model BOXES.json checks"
    if not image.columns:
        return "no mask is stated: every value is as it was given to be released"
    return f"every value of {plural(image.columns, 'masked column')} is one that its mask writes"


def certified_masks(content: Mapping[str, Any], kind: CertificateKind) -> dict[str, Mask]:
    """The masks of a certificate, with suppression of identifying columns; boxes state the latter only."""
    if kind is CertificateKind.BOXES:
        return all_masks(Configuration(name="boxes", masks={}), certified_roles(content))
    configuration, named = certified_configuration(content), content["configuration"]
    if configuration.id != named.get(LABELS_ID, named["id"]):
        raise VerificationError("the certificate's configuration is not the one that it names by its id")
    for column, listed in content.get("group_values", {}).items():
        if not set(listed["groups"]) <= set(labels_of(configuration.masks.get(column, Identity()))):
            raise VerificationError(f"the certificate lists values of {column!r} under labels it does not state")
    return all_masks(configuration, certified_roles(content))


def certified_roles(content: Mapping[str, Any]) -> Roles:
    """The roles that a certificate states."""
    listed = {role.value: content["roles"][role.value] for role in Role if role.value in content["roles"]}
    return Roles.from_mapping(listed, where="the certificate")


def _counts(content: Mapping[str, Any], policy: Policy) -> _Counts:
    ledger = content.get("ledger") or {}
    stated = {
        "rows": content["release"]["rows"],
        "of_source": content["source"]["rows"],
        "suppressed": content["suppressed"]["records"],
    }
    waiting = [ledger.get("held", 0), ledger.get("withdrawn", 0)]  # not released, for the sake of what is out
    if any(isinstance(number, bool) or not isinstance(number, int) or number < 0 for number in stated.values()) or any(
        isinstance(number, bool) or not isinstance(number, int) or number < 0 for number in waiting
    ):
        raise VerificationError("the certificate states a number of records that is none")
    dropped = policy.suppressed is Suppressed.DROPPED
    if content["suppressed"]["dropped"] is not dropped:
        raise VerificationError("the certificate and its policy say different things of what suppressed records become")
    return _Counts(**stated, waiting=sum(waiting), dropped=dropped)


def _hides(mask: Mask | None) -> bool:
    return mask is not None and any(isinstance(link, Suppress | Nullify) for link in links_of(mask))


def _check_starred(table: Dataset, roles: Roles, masks: Mapping[str, Mask], image: ImageCheck, counts: _Counts) -> None:
    """Raise unless as many records are starred as were suppressed, or more where the masks themselves write stars."""
    quasi = [name for name in roles.quasi_identifying if name in table.schema]
    if counts.dropped or not quasi:
        return
    masked_quasi = [name for name in quasi if name in masks]
    exact = bool(masked_quasi) and not stars_all(masks, masked_quasi)
    if image.starred < counts.suppressed or (exact and image.starred != counts.suppressed):
        raise VerificationError(
            f"{image.starred:,} records are starred and the certificate states {counts.suppressed:,} suppressed ones"
        )
