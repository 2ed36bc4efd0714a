"""Metadata of a product for other catalogs and search engines: Croissant 1.0."""

from __future__ import annotations

import json
import re
from typing import Any

from aegis.catalog import records
from aegis.catalog.service import products, releases
from aegis.catalog.service.catalog import Work
from aegis.catalog.service.certificates import certificate_text
from aegis.catalog.service.paging import MOST, PageRequest
from aegis.catalog.states import ReleaseState
from aegis.data.kind import Kind
from aegis.data.schema import Role

_TERMS = (
    "column", "extract", "field", "fileObject", "fileProperty", "fileSet", "format", "includes", "isLiveDataset",
    "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated", "replace",
    "separator", "source", "subField", "transform", "citeAs",
)  # fmt: skip
_CONTEXT: dict[str, Any] = {
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
        "@context": _CONTEXT,
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
