"""The catalog for data portals and data spaces: DCAT-AP 3 with an ODRL offer per product, and the catalog part of the
Dataspace Protocol (2025-1).

Both say the same in two vocabularies' wrappings: what there is, under which conditions one may ask for it, and which
masked files are out that the asker may see. Nothing is negotiated here: an offer is taken up by asking for access.
Both come in pages, so that a catalog of any size costs each answer the same.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, func, or_, select

from aegis.catalog import records
from aegis.catalog.database.tables import Release, Request
from aegis.catalog.service import products
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.paging import FIRST, PageRequest
from aegis.catalog.service.permissions import Permission, may, require
from aegis.catalog.states import ProductState, ReleaseState
from aegis.errors import NotFoundError

DCAT_PATH = "/api/v1/dcat"
DSP_VERSION, DSP_PATH = "2025-1", "/api/v1/dsp"
DSP_CONTEXT = ["https://w3id.org/dspace/2025/1/context.jsonld"]
_FORMAT = "HttpData-PULL"
_DCAT_CONTEXT: dict[str, Any] = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "hydra": "http://www.w3.org/ns/hydra/core#",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "spdx": "http://spdx.org/rdf/terms#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_PROFILE = "urn:aegis:odrl"
"""Says that an offer uses one term that is not ODRL's own: the next."""
_RE_IDENTIFY = "urn:aegis:re-identify"
_RESTRICTED = "http://publications.europa.eu/resource/authority/access-right/RESTRICTED"
_MEDIA = "https://www.iana.org/assignments/media-types/"
_MEDIA_TYPES = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet"}
_MOST_FILES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPage:
    """A part of the catalog, and where the next one is; None after the last."""

    document: dict[str, Any]
    next_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedFile:
    """A verified release as a file that portals list."""

    release_id: str
    file_name: str
    bytes: int
    digest: str
    created_at: datetime.datetime


def dcat_catalog(work: Work, *, base_url: str, page: PageRequest = FIRST) -> CatalogPage:
    """The published products that the actor sees as a DCAT-AP 3 catalogue in JSON-LD.

    Every page is the same catalogue with other datasets; as harvesters read it, ``hydra:next`` names the next page.
    """
    base = base_url.rstrip("/")
    listed = products.list_products(work, published=True, page=page)
    files = _released_files(work, [product.id for product in listed.items])
    first_url = f"{base}{DCAT_PATH}?page_size={page.size}"
    next_url = None if listed.next is None else f"{first_url}&cursor={listed.next}"
    document = {
        "@context": _DCAT_CONTEXT,
        "@id": base,
        "@type": "dcat:Catalog",
        "dct:title": _english("Aegis catalog"),
        "dct:description": _english("Data products that are released masked, for a stated purpose and time."),
        "dct:publisher": _agent("Aegis catalog"),
        "foaf:homepage": _typed_node(base, "foaf:Document"),
        "dcat:service": [_service(base)],
        "dcat:dataset": [_dataset(work, product, files.get(product.id, ()), base) for product in listed.items],
        "hydra:view": {
            "@id": first_url if page.cursor is None else f"{first_url}&cursor={page.cursor}",
            "@type": "hydra:PartialCollectionView",
            "hydra:first": {"@id": first_url},
            **({} if next_url is None else {"hydra:next": {"@id": next_url}}),
        },
    }
    return CatalogPage(document=document, next_url=next_url)


def dcat_dataset(work: Work, *, product: str, base_url: str) -> dict[str, Any]:
    """One product with its offer and the released files that one may see, as DCAT-AP 3 in JSON-LD."""
    record = products.product(work, product=product)
    files = _released_files(work, [record.id]).get(record.id, ())
    return {"@context": _DCAT_CONTEXT, **_dataset(work, record, files, base_url.rstrip("/"))}


def dsp_catalog(work: Work, *, base_url: str, page: PageRequest = FIRST) -> CatalogPage:
    """The answer to a catalog request of the Dataspace Protocol; whoever asks sends the same request to the next."""
    base = base_url.rstrip("/")
    listed = products.list_products(work, published=True, page=page)
    datasets = [_dsp_dataset(work, product, base) for product in listed.items]
    document = {
        "@context": DSP_CONTEXT,
        "@id": f"{base}{DSP_PATH}",
        "@type": "Catalog",
        "participantId": base,
        "service": [_dsp_service(base)],
        **({"dataset": datasets} if datasets else {}),  # the schema knows no empty list
    }
    here = f"{base}{DSP_PATH}/{DSP_VERSION}/catalog/request"
    return CatalogPage(
        document=document, next_url=None if listed.next is None else f"{here}?continuationToken={listed.next}"
    )


def dsp_dataset(work: Work, *, product: str, base_url: str) -> dict[str, Any]:
    """The dataset of a published product, by its id or name."""
    record = products.product(work, product=product)
    if record.state is not ProductState.PUBLISHED:
        raise NotFoundError("there is no such dataset; look at the catalog")
    return {"@context": DSP_CONTEXT, **_dsp_dataset(work, record, base_url.rstrip("/"))}


def dsp_versions() -> dict[str, Any]:
    """The versions of the Dataspace Protocol that are spoken, below the address where this stands."""
    return {"protocolVersions": [{"version": DSP_VERSION, "path": f"/{DSP_VERSION}", "binding": "HTTPS"}]}


def _dataset(work: Work, product: records.Product, files: Sequence[ReleasedFile], base: str) -> dict[str, Any]:
    url = f"{base}/products/{product.name}"
    return {
        "@id": url,
        "@type": "dcat:Dataset",
        "dct:identifier": product.id,
        "dct:title": _english(product.title),
        "dct:description": _english(product.description or product.title),
        "dct:publisher": _agent(product.owner_name),
        "dct:issued": _typed(product.created_at.isoformat(), "dateTime"),
        "dct:modified": _typed(product.changed_at.isoformat(), "dateTime"),
        "dcat:keyword": [_english(tag) for tag in product.tags],
        "dcat:landingPage": _typed_node(url, "foaf:Document"),
        "dct:accessRights": _typed_node(_RESTRICTED, "dct:RightsStatement"),
        "odrl:hasPolicy": _offer(work, product, base),
        "dcat:distribution": [_distribution(file, base) for file in files],
    }


def _offer(work: Work, product: records.Product, base: str) -> dict[str, Any]:
    """What one may ask for: the use for a stated purpose, for a time, after an expert agreed; nobody is looked for."""
    target = {"odrl:target": {"@id": f"{base}/products/{product.name}"}}
    return {
        "@id": f"{base}/products/{product.name}#offer",
        "@type": "odrl:Offer",
        "odrl:profile": {"@id": _PROFILE},
        "odrl:assigner": _agent(product.owner_name),
        "odrl:permission": {
            **target,
            "odrl:action": {"@id": "odrl:use"},
            "odrl:constraint": [
                {
                    "odrl:leftOperand": {"@id": "odrl:purpose"},
                    "odrl:operator": {"@id": "odrl:eq"},
                    "odrl:rightOperand": "the purpose that the request for access states",
                },
                {
                    "odrl:leftOperand": {"@id": "odrl:elapsedTime"},
                    "odrl:operator": {"@id": "odrl:lteq"},
                    "odrl:rightOperand": _typed(f"P{work.settings.request_days}D", "duration"),
                },
            ],
            "odrl:duty": {"odrl:action": {"@id": "odrl:obtainConsent"}},
        },
        "odrl:prohibition": {
            **target,
            "odrl:action": {"@id": _RE_IDENTIFY, "@type": "odrl:Action", "odrl:includedIn": {"@id": "odrl:use"}},
        },
        "dct:description": [_english(line) for line in _words(product)],
    }


def _words(product: records.Product) -> list[str]:
    return ["Ask for access; an expert decides.", *product.policy_lines]


def _distribution(file: ReleasedFile, base: str) -> dict[str, Any]:
    suffix = file.file_name[file.file_name.rfind(".") :].lower()
    url = f"{base}/releases/{file.release_id}"
    return {
        "@id": url,
        "@type": "dcat:Distribution",
        "dct:title": _english(file.file_name),
        "dcat:accessURL": {"@id": url},
        "dcat:downloadURL": {"@id": f"{base}/api/v1/releases/{file.release_id}/file"},
        "dcat:mediaType": _typed_node(_MEDIA + _MEDIA_TYPES.get(suffix, "application/octet-stream"), "dct:MediaType"),
        "dcat:byteSize": _typed(str(file.bytes), "nonNegativeInteger"),
        "dct:issued": _typed(file.created_at.isoformat(), "dateTime"),
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": _typed_node("spdx:checksumAlgorithm_sha256", "spdx:ChecksumAlgorithm"),
            "spdx:checksumValue": _typed(file.digest, "hexBinary"),
        },
        "dcat:accessService": _service(base),
    }


def _service(base: str) -> dict[str, Any]:
    return {
        "@id": f"{base}/api/v1",
        "@type": "dcat:DataService",
        "dct:title": _english("The API of the catalog"),
        "dcat:endpointURL": {"@id": f"{base}/api/v1"},
        "dcat:endpointDescription": {"@id": f"{base}/api/v1/openapi.json"},
    }


def _dsp_dataset(work: Work, product: records.Product, base: str) -> dict[str, Any]:
    return {
        "@id": product.id,
        "@type": "Dataset",
        # The context of the protocol knows the prefixes, but no names for these.
        "dct:title": _english(product.title),
        "dct:description": _english(product.description or product.title),
        **({"dcat:keyword": [_english(tag) for tag in product.tags]} if product.tags else {}),
        "hasPolicy": [
            {
                "@id": f"{base}/products/{product.name}#offer",
                "@type": "Offer",
                "profile": _PROFILE,
                "permission": [
                    {
                        "action": "use",
                        "constraint": [
                            {
                                "leftOperand": "odrl:purpose",
                                "operator": "eq",
                                "rightOperand": "the purpose that the request for access states",
                            },
                            {
                                "leftOperand": "odrl:elapsedTime",
                                "operator": "lteq",
                                "rightOperand": f"P{work.settings.request_days}D",
                            },
                        ],
                        "duty": [{"action": "odrl:obtainConsent"}],
                    }
                ],
                "prohibition": [{"action": _RE_IDENTIFY}],
            }
        ],
        "distribution": [{"@type": "Distribution", "format": _FORMAT, "accessService": _dsp_service(base)}],
    }


def _dsp_service(base: str) -> dict[str, Any]:
    return {"@id": f"{base}/api/v1", "@type": "DataService", "endpointURL": f"{base}/api/v1"}


def _english(text: str) -> dict[str, str]:
    return {"@value": text, "@language": "en"}


def _typed(text: str, kind: str) -> dict[str, str]:
    return {"@value": text, "@type": f"xsd:{kind}"}


def _typed_node(address: str, kind: str) -> dict[str, str]:
    """Something elsewhere, with what it is: whoever checks a document alone cannot look there."""
    return {"@id": address, "@type": kind}


def _agent(name: str) -> dict[str, Any]:
    return {"@type": "foaf:Agent", "foaf:name": name}


_place = func.row_number().over(partition_by=Release.product_id, order_by=(Release.created_at.desc(), Release.id))
_of_mine = select(Request.release_id).where(Request.consumer_id == bindparam("me"), Request.release_id.is_not(None))
_numbered = (
    select(
        Release.id,
        Release.product_id,
        Release.file_name,
        Release.bytes,
        Release.digest,
        Release.created_at,
        _place.label("place"),
    )
    .where(
        Release.product_id.in_(bindparam("products", expanding=True)),
        Release.state == ReleaseState.VERIFIED,
        or_(Release.product_id.in_(bindparam("all_of", expanding=True)), Release.id.in_(_of_mine)),
    )
    .subquery()
)
_FILES = select(_numbered).where(_numbered.c.place <= _MOST_FILES).order_by(_numbered.c.place)


def _released_files(work: Work, product_ids: Sequence[str]) -> Mapping[str, Sequence[ReleasedFile]]:
    """The verified releases of these products that the actor may see, the newest first and at most 50 of each.

    Those who work on a product see all of its, others those of their own requests; as in `releases.list_releases`.
    """
    require(work.actor, Permission.SEE_CATALOG)
    all_of = [product_id for product_id in product_ids if may(work.actor, Permission.SEE_RELEASES, product_id)]
    values = {"products": list(product_ids), "all_of": all_of, "me": work.actor.user_id}
    files: defaultdict[str, list[ReleasedFile]] = defaultdict(list)
    for row in work.session.execute(_FILES, values):
        files[row.product_id].append(
            ReleasedFile(
                release_id=row.id,
                file_name=row.file_name,
                bytes=row.bytes,
                digest=row.digest,
                created_at=row.created_at,
            )
        )
    return files
