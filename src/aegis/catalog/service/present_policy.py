"""Does a release satisfy the product's policy as it is today?

A release was measured under the policy of its certificate. The product's policy and roles may change later. What the
certificate measured often decides the question: a smallest class of 5 does not satisfy a k of 10. Where it does not,
for instance because another column identifies now, nothing is claimed: the answer is *not known*, and a new release
would tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from aegis.catalog.database.tables import Product
from aegis.catalog.records import PresentPolicy, Standing
from aegis.catalog.service.schema import policy_of, roles_of, schema_of
from aegis.data.schema import Role
from aegis.errors import AegisError
from aegis.library.tables.judging import means_nothing
from aegis.masking.configuration_file import certified_configuration
from aegis.privacy.model import ROUNDING, Model
from aegis.privacy.policy import Policy, narrowed
from aegis.privacy.verdict import Bound, shown

_K = "k-anonymity"
_HOLDS = PresentPolicy(standing=Standing.SATISFIED, said="it satisfies the product's present policy")


def present_policy(certificate: Mapping[str, Any], product: Product) -> PresentPolicy:
    """Hold what a certificate measured against the policy and the roles that the product has now."""
    standings = _standings(certificate, product)
    for standing in (Standing.NOT_SATISFIED, Standing.NOT_KNOWN):
        reasons = [finding.said for finding in standings if finding.standing is standing]
        if reasons:
            return PresentPolicy(standing=standing, said=_INTRODUCED[standing].format("; ".join(reasons)))
    return _HOLDS


def objections(certificate: Mapping[str, Any], product: Product) -> tuple[str, ...]:
    """Why what a certificate measured does not satisfy a product's policy and roles, or is not known to."""
    return tuple(
        finding.said for finding in _standings(certificate, product) if finding.standing is not Standing.SATISFIED
    )


def _standings(certificate: Mapping[str, Any], product: Product) -> tuple[PresentPolicy, ...]:
    try:
        return tuple(_found(certificate, product))
    except (AegisError, KeyError, TypeError, ValueError):
        return (_unknown("the certificate and the product's columns do not fit together any more"),)


_INTRODUCED = {
    Standing.NOT_SATISFIED: "it satisfies the policy of its certificate, but not the product's present one: {}",
    Standing.NOT_KNOWN: "whether it satisfies the product's present policy is not known: {}; release it again",
}


def _found(certificate: Mapping[str, Any], product: Product) -> Iterator[PresentPolicy]:
    """Everything that speaks against it, or leaves it open."""
    now = policy_of(product)
    if now is None:
        yield _unknown("the product has none")
        return
    then = Policy.from_mapping(certificate["policy"])
    released = list(certificate["release"]["columns"])
    roles = now.roles_in(schema_of(product.columns), roles_of(product.columns, product.label))
    roles_by_name = {column["name"]: column["role"] for column in product.columns}
    yield from _identifying(certificate, roles_by_name)
    gone = [name for name in released if name not in roles_by_name]
    if gone:
        yield _unknown(f"the product has no column {', '.join(gone)} any more")
    measured = {name for name in certificate["roles"].get("quasi_identifying", ()) if name in released}
    quasi = {name for name in roles.quasi_identifying if name in released}
    if now.id == then.id and quasi == measured:
        return
    yield from _suppression(certificate, now)
    if now.unit != then.unit:
        counted = "records" if then.unit is None else f"people by {then.unit}"
        yield _unknown(f"{counted} were counted, and {'records' if now.unit is None else 'people'} are by now")
        return
    treated_alike = now.suppressed is then.suppressed or certificate["suppressed"]["records"] == 0
    judging = narrowed(now, roles, left_out=[name for name in roles_by_name if name not in released]).policy
    for model in judging.models:
        yield _judged(model, certificate, asked=quasi, measured=measured if treated_alike else None)


def _identifying(certificate: Mapping[str, Any], roles: Mapping[str, str]) -> Iterator[PresentPolicy]:
    """Columns that identify people by now, and were released as they are, or in part without being judged."""
    identified = certificate["roles"].get("identifying", ())
    judged = certificate["roles"].get("quasi_identifying", ())
    masks = certified_configuration(certificate).masks
    for name in certificate["release"]["columns"]:
        if roles.get(name) != Role.IDENTIFYING or name in identified:
            continue
        if name not in masks or not (name in judged or means_nothing(masks[name])):
            yield _failed(f"the column {name} identifies people")


def _suppression(certificate: Mapping[str, Any], now: Policy) -> Iterator[PresentPolicy]:
    suppressed, rows = certificate["suppressed"]["records"], certificate["source"]["rows"]
    if suppressed > now.max_suppression * rows + 1e-9:
        yield _failed(f"{suppressed} of {rows} records were suppressed, {100 * now.max_suppression:g}% may be")


def _judged(
    model: Model, certificate: Mapping[str, Any], *, asked: set[str], measured: set[str] | None
) -> PresentPolicy:
    """One model by what was measured; merging classes keeps a monotone model satisfied, splitting keeps it failed."""
    title = f"{model.name} of {model.subject}" if model.subject else model.name
    value, was_measured = _value(model, certificate)
    if not was_measured:
        return _unknown(f"{title} was not measured as it is asked for now")
    holds = value is None or _holds(model, value)
    outcome = "nothing to judge" if value is None else f"found {shown(value)}"
    sentence = f"{title}: {model.bound.value} {shown(model.threshold)} asked, {outcome}"
    monotone = model.monotone_in_people if "unit" in certificate else model.monotone
    undisturbed = monotone and certificate["suppressed"]["records"] == 0
    if measured == asked or (measured is not None and undisturbed and holds and asked < measured):
        return _HOLDS if holds else _failed(sentence)
    if measured is not None and undisturbed and not holds and asked > measured:
        return _failed(sentence)
    what = "suppressed records counted otherwise" if measured is None else "other columns were quasi-identifying"
    return _unknown(f"{title} was measured when {what}")


def _value(model: Model, certificate: Mapping[str, Any]) -> tuple[float | None, bool]:
    """What was measured for a model of this kind and these settings, and whether anything was."""
    for verdict in certificate["verdicts"]:
        same = verdict["name"] == model.name and verdict["attribute"] == model.subject
        if same and verdict["parameters"] == model.shown_parameters():
            value = verdict["value"]
            return (None if value is None else float("inf") if value == "infinite" else float(value)), True
    if model.name == _K:
        return float(certificate["smallest_class"]), True
    return None, False


def _holds(model: Model, value: float) -> bool:
    if model.bound is Bound.AT_LEAST:
        return value >= model.threshold * (1 - ROUNDING)
    if model.bound is Bound.AT_MOST:
        return value <= model.threshold + ROUNDING
    return value < model.threshold


def _failed(sentence: str) -> PresentPolicy:
    return PresentPolicy(standing=Standing.NOT_SATISFIED, said=sentence)


def _unknown(sentence: str) -> PresentPolicy:
    return PresentPolicy(standing=Standing.NOT_KNOWN, said=sentence)
