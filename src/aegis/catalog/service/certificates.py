"""A certificate: is it one, is it unchanged, and does what it measured satisfy what the product's policy asks?

The policy of the day on which the release arrives, the one that the product has now, and the one under which an expert
approved the request. What the certificate measured often decides the question: a smallest class of 5 does not satisfy a
k of 10. Where it does not, for instance because another column identifies now, nothing is claimed: the answer is *not
known*, and a new release would tell.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.catalog.database.storage import Stream, limited
from aegis.catalog.database.tables import Product, Request
from aegis.catalog.records import PresentPolicy, Standing
from aegis.catalog.service.checks import checked_document, policy_of, roles_of, schema_of, well_formed
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import AegisError, ConflictError, DataError, VerificationError
from aegis.library.tables.judging import means_nothing
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import LABELS_ID, certified_configuration
from aegis.operation import word
from aegis.privacy.model import ROUNDING, Model
from aegis.privacy.policy import Policy, narrowed
from aegis.privacy.verdict import Bound, shown
from aegis.releases.certificate import Certificate, CertificateKind, digest, read_certificate


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFacts:
    """What the catalog relies on: worked out from the content, never taken from an id that it states."""

    content: dict[str, Any]
    digest: str
    sha256: str
    policy_id: str
    configuration_id: str
    columns: tuple[str, ...]
    quasi_identifying: frozenset[str]


def read_facts(stream: Stream, *, limit_bytes: int) -> CertificateFacts:
    """Read an uploaded certificate; every defect is one sentence."""
    text = b"".join(limited(stream, limit_bytes=limit_bytes))
    with tempfile.TemporaryDirectory(prefix="aegis-certificate-") as place:
        path = Path(place) / "certificate.json"
        path.write_bytes(text)
        return _facts(path)


_well_formed = well_formed(
    DataError, "the certificate lacks what a certificate of Aegis says; give the .certificate.json"
)


@_well_formed
def _facts(path: Path) -> CertificateFacts:
    certificate = read_certificate(path)
    content, kind = certificate.content, certificate.kind
    checked_document(content, what="the certificate")
    if kind is not CertificateKind.MASKS:
        raise DataError(
            f"the catalog takes certificates that aegis release wrote, and this one is of {kind.value}; "
            "release that table (--rows-of names its source) and push what comes out"
        )
    columns = content["release"]["columns"]
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise DataError("the certificate does not name the columns of its file; release it again")
    if set(columns) & set(content["release"].get("left_out", ())):
        raise VerificationError("the certificate says of a column that it was left out and released; release it again")
    verdicts = content["verdicts"]
    if not verdicts or not all(verdict["satisfied"] is True for verdict in verdicts):
        raise VerificationError("the certificate itself says that the policy is not satisfied; release it again")
    return CertificateFacts(
        content=json.loads(json.dumps(content)),
        digest=digest(content),
        sha256=str(content["release"]["sha256"]),
        policy_id=Policy.from_mapping(content["policy"], where="the certificate's policy").id,
        configuration_id=certified_id(content),
        columns=tuple(columns),
        quasi_identifying=frozenset(content["roles"].get("quasi_identifying", ())),
    )


NOTHING = Configuration(name="as-it-is", masks={}).id
"""The id of the configuration that masks nothing: the table was anonymized before."""


def certified_id(content: Mapping[str, Any]) -> str:
    """The id of the masking that a certificate states, worked out from what it does.

    Where it names the labels only, the id is that of the configuration behind them, which `check_stated` holds them to.
    """
    stated, named = certified_configuration(content), content["configuration"]
    if LABELS_ID not in named:
        return stated.id
    if stated.id != named[LABELS_ID]:
        raise VerificationError("the certificate's configuration is not the one that it names by its id")
    return str(named["id"])


@_well_formed
def check_stated(content: Mapping[str, Any], masks: Configuration) -> None:
    """Raise unless the labels and values that a certificate names are those of the configuration behind its id."""
    if LABELS_ID in content["configuration"] and not certified_configuration(content).states(masks):
        raise VerificationError(
            "the certificate names labels that the configuration it names by its id does not write; release it again"
        )
    for column, listed in content.get("group_values", {}).items():
        if column not in masks.masks or not masks.masks[column].gives(listed["groups"]):
            raise VerificationError(
                f"the certificate lists values of {column!r} under labels that the configuration it names by its id "
                "does not give them; release it again"
            )


@_well_formed
def check_promise(facts: CertificateFacts, product: Product) -> None:
    """Raise unless the certificate is about this product's policy, quasi-identifiers and columns."""
    policy = policy_of(product)
    if policy is None:
        raise ConflictError("the product has no policy yet that a release could satisfy; give it one first")
    if facts.policy_id != policy.id:
        raise VerificationError("the certificate is for another policy than the product's; release under that policy")
    of_product = {column["name"] for column in product.columns}
    if not set(facts.columns) <= of_product:
        raise VerificationError("the release has a column that the product does not have; leave it out")
    roles = policy.roles_in(schema_of(product.columns), roles_of(product.columns, product.label))
    if not set(roles.quasi_identifying) <= facts.quasi_identifying:
        raise VerificationError(
            "the certificate leaves out a quasi-identifying column of the product; release it with the product's roles"
        )
    masked = certified_configuration(facts.content).columns
    hidden_or_judged = {*facts.content["roles"].get("identifying", ()), *facts.quasi_identifying.intersection(masked)}
    shown = [name for name in roles.identifying if name in facts.columns and name not in hidden_or_judged]
    if shown:
        raise VerificationError(
            f"the column {shown[0]!r} identifies people and is not masked as such, by the role that the certificate "
            "gives it; release it with the product's roles"
        )
    _check_kinds(facts, product, [name for name in policy.attributes if name not in masked])


def _check_kinds(facts: CertificateFacts, product: Product, judged_as_they_are: Sequence[str]) -> None:
    """Raise where a column is judged as another kind of values than the product has there: distances depend on it."""
    kinds = {column["name"]: Kind(column["kind"]) for column in product.columns}
    for name in judged_as_they_are:
        if name not in facts.columns:
            continue
        stated = Kind(facts.content["kinds"][name])
        if _measured_as(stated) != _measured_as(kinds[name]):
            raise VerificationError(
                f"the certificate judges {name!r} as {stated.value} and the product has {kinds[name].value} there; "
                "release it with the kinds of the product, or correct the product"
            )


def _measured_as(kind: Kind) -> str:
    """How far values of a kind lie apart: by their numbers, by time, or not at all."""
    return "number" if kind.is_number else "time" if kind.is_ordered else "name"


def certificate_text(content: Mapping[str, Any]) -> str:
    """The document as it was pushed, with its own hash."""
    return Certificate(content=dict(content)).to_json()


# Does a release satisfy the policy of its product as it is today?

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
        return tuple(_objecting(certificate, product))
    except (AegisError, KeyError, TypeError, ValueError):
        return (_unknown("the certificate and the product's columns do not fit together any more"),)


_INTRODUCED = {
    Standing.NOT_SATISFIED: "it satisfies the policy of its certificate, but not the product's present one: {}",
    Standing.NOT_KNOWN: "whether it satisfies the product's present policy is not known: {}; release it again",
}


def _objecting(certificate: Mapping[str, Any], product: Product) -> Iterator[PresentPolicy]:
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
    suppressed, rows = certificate["suppressed"]["records"], certificate["source"]["rows"]
    if suppressed > now.max_suppression * rows + 1e-9:
        yield _failed(f"{suppressed} of {rows} records were suppressed, {100 * now.max_suppression:g}% may be")
    if now.unit != then.unit:
        counted = "records" if then.unit is None else f"people by {then.unit}"
        yield _unknown(f"{counted} were counted, and {'records' if now.unit is None else 'people'} are by now")
        return
    treated_alike = now.suppressed is then.suppressed or suppressed == 0
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


# What a release for a request keeps to: the columns that are asked for, and what an expert approved it under.
#
# Whoever provides a product may change its policy and the roles of its columns. An approval is not carried over to less
# than it was given for: a release for the request must satisfy the policy of that day too, as far as its certificate
# measured, or an expert decides anew.


def check_columns(released: Sequence[str], request: Request, product: Product) -> None:
    """Raise if a released table has columns that the request did not ask for."""
    if asks_for_all(request.columns, product):
        return
    more = [name for name in released if name not in request.columns]
    if more:
        names = [column["name"] for column in product.columns if column["name"] in request.columns]
        raise VerificationError(
            f"the release has columns that the request does not ask for ({', '.join(more)}); release again with "
            f"--columns {column_list(names)}"
        )


def asks_for_all(columns: Collection[str], product: Product) -> bool:
    """Whether a request names everything that does not identify people."""
    return {column["name"] for column in product.columns if column["role"] != Role.IDENTIFYING} <= set(columns)


def column_list(columns: Sequence[str]) -> str:
    """The columns as ``--columns`` takes them from a shell.

    >>> column_list(["age", "zip"]), column_list(["blood type", "age"])
    ('age,zip', "'blood type,age'")
    """
    return word(",".join(columns))


def terms_of(product: Product) -> dict[str, Any]:
    """Policy, columns and label as they stand, for the record of an approval."""
    columns = [{part: column[part] for part in ("name", "kind", "role")} for column in product.columns]
    return {"policy": product.policy, "columns": columns, "label": product.label}


def check_terms(request: Request, product: Product, certificate: Mapping[str, Any]) -> None:
    """Raise unless a release satisfies what its request was approved under, where that is not what holds now."""
    approved = request.approved_under
    if approved is None or approved == terms_of(product):  # approvals of earlier versions do not say
        return
    as_approved = Product(policy=approved["policy"], columns=approved["columns"], label=approved["label"])
    against = objections(certificate, as_approved)
    if against:
        raise VerificationError(
            f"the request was approved under another policy or other roles, and by those: {'; '.join(against)}; revoke "
            "it and let it be asked for again, so that an expert decides under the present ones"
        )
