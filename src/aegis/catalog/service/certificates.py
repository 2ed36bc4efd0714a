"""A certificate on arrival: is it one, is it unchanged, and does it promise what the product's policy asks?"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aegis.catalog.database.storage import Stream, limited
from aegis.catalog.database.tables import Product
from aegis.catalog.service.checks import checked_document, well_formed
from aegis.catalog.service.schema import policy_of, roles_of, schema_of
from aegis.data.kind import Kind
from aegis.errors import ConflictError, DataError, VerificationError
from aegis.masking.configuration import Configuration
from aegis.masking.configuration_file import LABELS_ID, certified_configuration
from aegis.privacy.policy import Policy
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
