"""What a certificate states, held against the release: masked rows, recoded ones and made-up ones, and attacks.

Masks and boxes end in the same checks: the columns are those that are named, an identifying column shows nothing,
every value of a masked column is one that its mask writes, and the suppressed records are as many as are stated.
Hashes say that nothing was changed since the certificate was made, not that the masks were ever applied. Every mask
knows what it can write (`Mask.could_write`), so a column of raw values under a certificate that states a mask is found
from the release alone, whatever the original holds.

Of made-up rows the columns and the arithmetic of the promise can be checked. That the noise was drawn as stated cannot
be seen from the outside; that what is stated adds up to the promise can. Attacks need the true rows, so nobody can run
them again on the release alone; that each one which the policy limits has a result within its limit can be seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis.expr.types as ir

from aegis.candidates.synthesis.measuring import delta_of
from aegis.counts.answer import ask, count_rows
from aegis.data.dataset import Dataset
from aegis.data.domain import show
from aegis.data.schema import Role, Roles
from aegis.errors import RoleError, VerificationError
from aegis.library.tables.judging import check_identifying
from aegis.library.tables.masked_data import all_masks
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import LABELS_ID, certified_configuration
from aegis.masking.mask import Mask
from aegis.masking.masks.identity import Identity
from aegis.masking.masks.suppress import STAR, Suppress
from aegis.plural import count
from aegis.privacy.policy import Policy, Suppressed
from aegis.releases.certificate import CertificateKind

_NOT_SO = "it was not masked as the certificate says"
_ROUNDING = 1e-6  # of sums that a certificate states


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """How many records there are and were, as a certificate states."""

    rows: int
    of_source: int
    suppressed: int
    waiting: int
    dropped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Image:
    """How many columns were held against their masks, and how many rows are starred."""

    columns: int
    starred: int


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
    undecided = [name for name in columns if not _is_decided(name, content, roles, masks)]
    if undecided:
        raise VerificationError(
            f"the column {undecided[0]!r} has no role and no mask in the certificate: nobody decided that it leaves"
        )
    try:
        check_identifying(roles, {name: mask for name, mask in masks.items() if name in table.schema})
    except RoleError as error:
        raise VerificationError(str(error)) from None
    if policy.unit is not None and policy.unit in table.schema and not masks.get(policy.unit, Identity()).hides:
        raise VerificationError(
            f"people are counted by {policy.unit!r}, and the release shows something of it: which records belong "
            "together"
        )
    image = _check_image(table.table, masks, quasi_identifying=roles.quasi_identifying)
    if kind is CertificateKind.BOXES or content["configuration"].get("masks"):  # else it may have had stars before
        _check_starred(table, roles, masks, image, counts)
    if counts.rows + (counts.suppressed if counts.dropped else 0) + counts.waiting != counts.of_source:
        raise VerificationError("the release and its suppressed records are not as many as the source's")
    if kind is CertificateKind.BOXES:
        return "the columns are those it names; which box each value is, --model BOXES.json checks"
    if not image.columns:
        return "no mask is stated: every value is as it was given to be released"
    return f"every value of {count(image.columns, 'masked column')} is one that its mask writes"


def _is_decided(name: str, content: Mapping[str, Any], roles: Roles, masks: Mapping[str, Mask]) -> bool:
    """Whether a column has a role or a mask, or stands among those that count as insensitive because nobody said."""
    return roles.get(name) is not None or name in masks or name in content["roles"].get("unlisted_are_insensitive", ())


def certified_masks(content: Mapping[str, Any], kind: CertificateKind) -> dict[str, Mask]:
    """The masks of a certificate, with suppression of identifying columns; boxes state the latter only."""
    if kind is CertificateKind.BOXES:
        return all_masks(Configuration(name="boxes", masks={}), certified_roles(content))
    configuration, named = certified_configuration(content), content["configuration"]
    if configuration.id != named.get(LABELS_ID, named["id"]):
        raise VerificationError("the certificate's configuration is not the one that it names by its id")
    for column, listed in content.get("group_values", {}).items():
        if not set(listed["groups"]) <= set(configuration[column].labels):
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
    waiting = [ledger.get("held", 0), ledger.get("withdrawn", 0)]  # not released, for the sake of earlier releases
    if any(isinstance(number, bool) or not isinstance(number, int) or number < 0 for number in stated.values()) or any(
        isinstance(number, bool) or not isinstance(number, int) or number < 0 for number in waiting
    ):
        raise VerificationError("the certificate states a number of records that is none")
    dropped = policy.suppressed is Suppressed.DROPPED
    if content["suppressed"]["dropped"] is not dropped:
        raise VerificationError("the certificate and its policy say different things of what suppressed records become")
    return _Counts(**stated, waiting=sum(waiting), dropped=dropped)


def _check_starred(table: Dataset, roles: Roles, masks: Mapping[str, Mask], image: _Image, counts: _Counts) -> None:
    """Raise unless as many records are starred as were suppressed, or more where the masks themselves write stars."""
    quasi = [name for name in roles.quasi_identifying if name in table.schema]
    if counts.dropped or not quasi:
        return
    masked_quasi = [name for name in quasi if name in masks]
    exact = bool(masked_quasi) and not _stars_all(masks, masked_quasi)
    if image.starred < counts.suppressed or (exact and image.starred != counts.suppressed):
        raise VerificationError(
            f"{image.starred:,} records are starred and the certificate states {counts.suppressed:,} suppressed ones"
        )


def _check_image(table: ir.Table, masks: Mapping[str, Mask], *, quasi_identifying: Sequence[str]) -> _Image:
    """Hold every masked column of a written table against its mask; raises `VerificationError` where one could not
    have written it. Suppressed records are starred in every quasi-identifier.

    Only the distinct values of a column are read. The error names a column, its mask and a number, never a value.
    """
    there = [name for name in quasi_identifying if name in table.columns]
    starred = None
    for name in there:
        is_star = (table[name].cast("string") == STAR).fill_null(False)
        starred = is_star if starred is None else starred & is_star
    stars = 0 if starred is None else count_rows(table.filter(starred))
    shown = table if starred is None or not stars else table.filter(~starred)
    checked = 0
    for name, mask in masks.items():
        if name not in table.columns or isinstance(mask, Identity):
            continue
        checked += 1
        rows = shown if name in there else table  # a suppressed record is starred in its quasi-identifiers only
        values = ask(rows.select(value=rows[name]).distinct())["value"].to_pylist()
        texts = [show(value) for value in values if value is not None]
        wrong = mask.could_write(texts).count(False)
        if wrong:
            problem = (
                f"the column {name!r} holds {count(wrong, 'value')} that its mask ({mask.describe()}) never writes"
            )
            raise VerificationError(f"{problem}: {_NOT_SO}")
        if len(texts) < len(values) and isinstance(mask.steps[-1], Suppress):
            problem = f"the column {name!r} has missing values, which its mask ({mask.describe()}) never leaves"
            raise VerificationError(f"{problem}: {_NOT_SO}")
    return _Image(columns=checked, starred=stars)


def _stars_all(masks: Mapping[str, Mask], quasi_identifying: Sequence[str]) -> bool:
    """Whether the masks themselves could star every quasi-identifier of a record that is not suppressed."""
    return all(masks.get(name, Identity()).could_write([STAR])[0] for name in quasi_identifying)


def check_promise(content: Mapping[str, Any]) -> str:
    """Add up what was measured and hold it against the promise; answers what was found, or raises."""
    promise, measured = content["promise"], content["measured"]
    if content["private"] is not True:
        raise VerificationError("the noise was drawn by a seed: the table is for tests and protects nobody")
    if not measured:
        raise VerificationError("no measurement is stated, and rows that nothing was measured for are not made of data")
    length = float(promise["rows_each"])
    for entry in measured:
        cost = length**2 * entry["marginals"] / (2 * entry["sigma"] ** 2)
        if not math.isclose(cost, entry["rho"], rel_tol=_ROUNDING):
            raise VerificationError("a measurement costs another share of the budget than its noise comes to")
    spent = math.fsum(entry["rho"] for entry in measured)
    delta_spent = math.fsum(entry["delta"] for entry in measured)
    if spent > content["rho"] * (1 + _ROUNDING) or delta_spent > content["found_delta"] * (1 + _ROUNDING):
        raise VerificationError("the measurements exceed the budget that the certificate states")
    epsilon, delta = promise["epsilon"], promise["delta"]
    if not delta_of(spent, epsilon) + delta_spent <= delta * (1 + _ROUNDING):
        raise VerificationError("what was measured comes to a larger epsilon than is promised")
    return f"{len(measured)} measurements, ρ = {spent:.4g} together, come to ε = {epsilon:g} at δ = {delta:g}"


def check_columns(content: Mapping[str, Any], table: Dataset, rows: int) -> str:
    """Hold the file's columns and rows against the certificate; answers what was found, or raises."""
    if tuple(table.schema.names) != tuple(content["columns"]):
        raise VerificationError("the columns of the file are not those that the certificate names")
    present = [name for name in content["left_out"] if name in table.schema]
    if present:
        raise VerificationError(f"the file has the column {present[0]!r} that its certificate says was left out")
    if rows != content["release"]["rows"]:
        raise VerificationError("the file has another number of rows than the certificate states")
    return f"{len(content['columns'])} columns and {rows:,} rows, as stated"


def check_attacks(content: Mapping[str, Any], policy: Policy) -> str | None:
    """What the certificate states of the attacks that its policy limits; None where it limits none.

    Raises `VerificationError` where one of them has no result, another limit, or a result beyond it.
    """
    if not policy.attacks:
        return None
    from aegis.attacks.attack import ATTACKS  # compiled loops, which most certificates do without

    ledger = content.get("ledger") or {}
    several = bool(ledger.get("together_with")) and ledger.get("despite") is None
    stated = {result["name"]: result for result in content.get("attacks", [])}
    limited = [(name, limit) for name, limit in policy.attacks if several or ATTACKS[name].least_releases == 1]
    for name, limit in limited:
        result = stated.get(name)
        if result is None:
            raise VerificationError(f"the policy limits the attack {name!r}, and the certificate has no result of it")
        share = result["exposed_share"]
        if result["limit"] != limit or isinstance(share, bool) or not isinstance(share, int | float):
            raise VerificationError(f"the certificate states another limit of the attack {name!r} than its policy")
        if not 0 <= share <= limit:
            raise VerificationError(
                f"the certificate says itself that the attack {name!r} exposes more than its policy allows"
            )
    return f"{count(len(limited), 'result')} stated, within what the policy allows"
