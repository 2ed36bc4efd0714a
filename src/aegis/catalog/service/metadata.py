"""The catalog for other catalogs: Croissant 1.0 for search engines, DCAT-AP 3 with an ODRL offer per product for data
portals, and the catalog part of the Dataspace Protocol (2025-1).

All say the same in different vocabularies: what there is, under which conditions one may ask for it, and which masked
files are out that the asker may see. Nothing is negotiated here: an offer is taken up by asking for access. DCAT and
the protocol come in pages, so that a catalog of any size costs each answer the same.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, func, or_, select

from aegis.catalog import records
from aegis.catalog.database.tables import Release, Request
from aegis.catalog.service import products, releases
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.certificates import certificate_text
from aegis.catalog.service.paging import FIRST, MOST, PageRequest
from aegis.catalog.service.permissions import Permission, may, require
from aegis.catalog.states import ProductState, ReleaseState
from aegis.data.kind import Kind
from aegis.data.schema import Role
from aegis.errors import NotFoundError

_TERMS = (
    "column", "extract", "field", "fileObject", "fileProperty", "fileSet", "format", "includes", "isLiveDataset",
    "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated", "replace",
    "separator", "source", "subField", "transform", "citeAs",
)  # fmt: skip
_CROISSANT_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "aegis": "urn:aegis:",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "aegis:certificate": {"@type": "@json"},
    "aegis:policy": {"@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}
_TYPES = {
    Kind.INTEGER: "sc:Integer",
    Kind.REAL: "sc:Float",
    Kind.TEXT: "sc:Text",
    Kind.BOOLEAN: "sc:Boolean",
    Kind.DATE: "sc:Date",
    Kind.TIMESTAMP: "sc:DateTime",
}
_FORMATS = {".csv": "text/csv", ".parquet": "application/x-parquet"}
_AS_THEY_WERE = (Role.INSENSITIVE, Role.SENSITIVE, Role.LABEL)
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")
"""What stands in an id as it is; other columns are numbered, after a mark that no plain name has."""


def croissant(work: Work, *, product: str, base_url: str) -> dict[str, Any]:
    """The product as Croissant 1.0 in JSON-LD, with the verified releases that one may see and their certificates."""
    record = products.product(work, product=product)
    newest = PageRequest(size=MOST)
    verified = releases.list_releases(work, product=record.id, state=ReleaseState.VERIFIED, page=newest).items
    base = base_url.rstrip("/")
    url = f"{base}/products/{record.name}"
    return {
        "@context": _CROISSANT_CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": record.name,
        "alternateName": record.title,
        "description": record.description or record.title,
        "url": url,
        "license": url,  # the page that says under which conditions one may ask
        "citeAs": f"{record.owner_name}: {record.title}, version {record.version}. {url}",
        "creator": {"@type": "sc:Person", "name": record.owner_name},
        "dateCreated": record.created_at.date().isoformat(),
        "datePublished": record.created_at.date().isoformat(),
        "dateModified": record.changed_at.isoformat(timespec="seconds"),
        "version": f"{record.version}.0.0",
        "conditionsOfAccess": "on request, for a stated purpose and time",
        "aegis:policy": record.policy,
        "distribution": [_file(release, base) for release in verified],
        "recordSet": [_records(record, release) for release in verified],
        "variableMeasured": _variables(record),
    }


def _file(release: records.Release, base: str) -> dict[str, Any]:
    suffix = release.file_name[release.file_name.rfind(".") :].lower()
    return {
        "@type": "cr:FileObject",
        "@id": f"file-{release.id}",
        "name": release.file_name,
        "contentUrl": f"{base}/api/v1/releases/{release.id}/file",
        "contentSize": f"{release.bytes} B",
        "encodingFormat": _FORMATS.get(suffix, "application/octet-stream"),
        "sha256": release.digest,
        "dateCreated": release.created_at.isoformat(timespec="seconds"),
        "aegis:presentPolicy": release.present_policy.standing.value,
        "aegis:certificate": json.loads(certificate_text(release.certificate)),
    }


def _records(product: records.Product, release: records.Release) -> dict[str, Any]:
    """The columns of one released file; what a mask changed is text, whatever it was before."""
    masked = set(release.certificate["configuration"].get("masks", {}))
    by_name = {column.name: column for column in product.columns}
    fields = []
    for number, name in enumerate(release.certificate["release"]["columns"], 1):
        column = by_name.get(name)
        plain = column is not None and name not in masked and column.role in _AS_THEY_WERE
        fields.append(
            {
                "@type": "cr:Field",
                "@id": f"records-{release.id}/{name if _PLAIN_NAME.fullmatch(name) else f'~{number}'}",
                "name": name,
                "description": "" if column is None else column.description,
                "dataType": _TYPES[Kind(column.kind)] if plain and column is not None else "sc:Text",
                "source": {"fileObject": {"@id": f"file-{release.id}"}, "extract": {"column": name}},
            }
        )
    return {"@type": "cr:RecordSet", "@id": f"records-{release.id}", "name": release.file_name, "field": fields}


def _variables(product: records.Product) -> list[dict[str, Any]]:
    """The columns as they are before masking: what one may ask for, whether or not a file is there."""
    return [
        {
            "@type": "sc:PropertyValue",
            "name": column.name,
            "description": column.description or column.name,
            "valueReference": Kind(column.kind).value,
        }
        for column in product.columns
        if column.role != Role.IDENTIFYING
    ]


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


def _dataset(work: Work, product: records.Product, files: Sequence[Any], base: str) -> dict[str, Any]:
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
        "dct:description": [_english(line) for line in ("Ask for access; an expert decides.", *product.policy_lines)],
    }


def _distribution(file: Any, base: str) -> dict[str, Any]:
    suffix = file.file_name[file.file_name.rfind(".") :].lower()
    url = f"{base}/releases/{file.id}"
    return {
        "@id": url,
        "@type": "dcat:Distribution",
        "dct:title": _english(file.file_name),
        "dcat:accessURL": {"@id": url},
        "dcat:downloadURL": {"@id": f"{base}/api/v1/releases/{file.id}/file"},
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


def _released_files(work: Work, product_ids: Sequence[str]) -> Mapping[str, Sequence[Any]]:
    """The verified releases of these products that the actor may see, the newest first and at most 50 of each.

    Those who work on a product see all of its, others those of their own requests; as in `releases.list_releases`.
    """
    require(work.actor, Permission.SEE_CATALOG)
    all_of = [product_id for product_id in product_ids if may(work.actor, Permission.SEE_RELEASES, product_id)]
    values = {"products": list(product_ids), "all_of": all_of, "me": work.actor.user_id}
    files: defaultdict[str, list[Any]] = defaultdict(list)
    for row in work.session.execute(_FILES, values):
        files[row.product_id].append(row)
    return files
