"""The catalog for portals and data spaces: what the specifications ask for is there, and nothing that one may not see.

The published shapes and schemas are no part of Aegis; ``benchmarks/dataspace_validation.py`` holds the documents
against them. What was found with them is written down here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import event

from aegis.catalog.service import metadata, products, releases
from aegis.catalog.service.paging import PageRequest
from aegis.catalog.states import ReleaseState
from aegis.errors import NotFoundError

BASE = "https://catalog.example/"
# Mandatory properties, DCAT-AP 3.0.
MANDATORY = {
    "dcat:Catalog": {"dct:title", "dct:description", "dct:publisher"},
    "dcat:Dataset": {"dct:title", "dct:description"},
    "dcat:Distribution": {"dcat:accessURL"},
    "dcat:DataService": {"dct:title", "dcat:endpointURL"},
    "foaf:Agent": {"foaf:name"},
    "odrl:Offer": {"odrl:permission"},
}


def things(document: Any) -> list[dict[str, Any]]:
    """Everything in a document that has a type."""
    if isinstance(document, list):
        return [found for each in document for found in things(each)]
    if not isinstance(document, dict):
        return []
    own = [document] if "@type" in document and "@value" not in document else []
    return own + [found for each in document.values() for found in things(each)]


@pytest.fixture
def filled(small_stage: Any) -> Any:
    small_stage.product()
    small_stage.product("draft-one", publish=False)
    small_stage.configurations()
    small_stage.provisioned()
    return small_stage


def test_the_catalog_is_a_dcat_ap_catalogue_with_an_offer_each(filled: Any) -> None:
    with filled.read("consumer") as work:
        document = metadata.dcat_catalog(work, base_url=BASE).document
    found = things(document)
    assert {each["@type"] for each in found} >= set(MANDATORY)
    for each in found:
        missing = MANDATORY.get(each["@type"], set()) - set(each)
        assert not missing, (each["@type"], missing)
    prefixes = {key.split(":")[0] for each in found for key in each if ":" in key}
    assert prefixes <= set(document["@context"])
    (dataset,) = document["dcat:dataset"]  # a draft is nobody else's business
    offer = dataset["odrl:hasPolicy"]
    for rule in (offer["odrl:permission"], offer["odrl:prohibition"]):
        assert rule["odrl:target"]["@id"] == dataset["@id"]  # of each rule by itself
    operands = {each["odrl:leftOperand"]["@id"] for each in offer["odrl:permission"]["odrl:constraint"]}
    assert operands == {"odrl:purpose", "odrl:elapsedTime"}
    assert any("5" in line["@value"] for line in offer["dct:description"])  # the policy in words
    (file,) = dataset["dcat:distribution"]
    assert file["dcat:accessURL"]["@id"].startswith("https://catalog.example/releases/")


def test_what_lies_elsewhere_says_what_it_is(filled: Any) -> None:
    """The shapes hold classes against a document alone; a product by itself names its service too."""
    with filled.read("consumer") as work:
        dataset = metadata.dcat_dataset(work, product="clinic", base_url=BASE)
    (file,) = dataset["dcat:distribution"]
    assert dataset["dct:accessRights"]["@type"] == "dct:RightsStatement"
    assert dataset["dcat:landingPage"]["@type"] == "foaf:Document"
    assert file["dcat:mediaType"]["@type"] == "dct:MediaType"
    assert file["spdx:checksum"]["spdx:algorithm"]["@type"] == "spdx:ChecksumAlgorithm"
    assert file["dcat:accessService"]["@type"] == "dcat:DataService"
    assert {"dct:title", "dcat:endpointURL"} <= set(file["dcat:accessService"])


def test_somebody_without_access_sees_the_offer_and_no_file(filled: Any) -> None:
    filled.person("stranger")
    with filled.read("stranger") as work:
        dataset = metadata.dcat_dataset(work, product="clinic", base_url=BASE)
    assert dataset["dcat:distribution"] == []
    assert dataset["odrl:hasPolicy"]["@type"] == "odrl:Offer"


def test_the_dataspace_protocol_gets_its_catalog_and_a_dataset(filled: Any) -> None:
    with filled.read("consumer") as work:
        catalog = metadata.dsp_catalog(work, base_url=BASE).document
        dataset = metadata.dsp_dataset(work, product=catalog["dataset"][0]["@id"], base_url=BASE)
        with pytest.raises(NotFoundError):
            metadata.dsp_dataset(work, product="draft-one", base_url=BASE)
    assert catalog["@context"] == ["https://w3id.org/dspace/2025/1/context.jsonld"]
    assert (catalog["@type"], catalog["participantId"]) == ("Catalog", "https://catalog.example")
    assert dataset["@type"] == "Dataset"
    (offer,) = dataset["hasPolicy"]
    assert (offer["@type"], offer["@id"].endswith("#offer")) == ("Offer", True)
    assert "target" not in offer  # an offer inside a dataset is about that dataset
    assert all({"action", "constraint"} <= set(each) for each in offer["permission"])
    # The context of the protocol knows no such words by themselves: without a prefix they vanish.
    assert {"dct:title", "dct:description"} <= set(dataset)
    assert {each["leftOperand"] for each in offer["permission"][0]["constraint"]} == {
        "odrl:purpose",
        "odrl:elapsedTime",
    }
    (distribution,) = dataset["distribution"]
    assert {"format", "accessService"} <= set(distribution)
    assert distribution["accessService"]["endpointURL"] == "https://catalog.example/api/v1"
    assert metadata.dsp_versions()["protocolVersions"][0]["version"] == "2025-1"


def test_a_catalog_of_nothing_has_no_empty_list(small_stage: Any) -> None:
    """The schema of a catalog takes a list of one at least, or none."""
    with small_stage.read("consumer") as work:
        assert "dataset" not in metadata.dsp_catalog(work, base_url=BASE).document


def _walked(pages: Callable[[PageRequest], metadata.CatalogPage]) -> list[dict[str, Any]]:
    """Every page, each found by what the one before says."""
    documents, page = [], PageRequest(size=2)
    while True:
        answer = pages(page)
        documents.append(answer.document)
        if answer.next_url is None:
            return documents
        query = parse_qs(urlsplit(answer.next_url).query)
        (cursor,) = query.get("cursor") or query["continuationToken"]
        page = PageRequest(size=2, cursor=cursor)


def test_a_large_catalog_comes_in_pages_that_hold_each_product_once(filled: Any) -> None:
    for number in range(4):
        filled.product(f"more-{number}")
    with filled.read("provider") as work:  # who also sees drafts, which are no part of it
        portal = _walked(lambda page: metadata.dcat_catalog(work, base_url=BASE, page=page))
        space = _walked(lambda page: metadata.dsp_catalog(work, base_url=BASE, page=page))
        ids = {each.name: each.id for each in products.list_products(work, published=True).items}
    names = ["clinic", *(f"more-{number}" for number in range(4))]
    shown = [[dataset["dct:identifier"] for dataset in document["dcat:dataset"]] for document in portal]
    assert shown == [[ids[name] for name in names[at : at + 2]] for at in (0, 2, 4)]
    assert [[dataset["@id"] for dataset in document["dataset"]] for document in space] == shown
    assert {document["@id"] for document in portal} == {"https://catalog.example"}  # one catalogue on three pages
    views = [document["hydra:view"] for document in portal]
    assert [view.get("hydra:next", {}).get("@id") for view in views] == [views[1]["@id"], views[2]["@id"], None]
    assert all(view["hydra:first"]["@id"] == views[0]["@id"] for view in views)


def test_a_page_asks_the_database_the_same_however_many_products_it_shows(filled: Any) -> None:
    for number in range(5):
        filled.product(f"more-{number}")
    asked: list[str] = []

    def executed(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    numbers = []
    event.listen(filled.catalog.database.engine, "before_cursor_execute", executed)
    try:
        for size in (1, 6):
            asked.clear()
            with filled.read("consumer") as work:
                metadata.dcat_catalog(work, base_url=BASE, page=PageRequest(size=size))
            numbers.append(len([statement for statement in asked if statement.startswith("SELECT")]))
    finally:
        event.remove(filled.catalog.database.engine, "before_cursor_execute", executed)
    assert numbers[0] == numbers[1] <= 3


def test_the_files_in_a_catalog_are_those_that_the_list_of_releases_shows(filled: Any) -> None:
    filled.person("stranger")
    for name in ("consumer", "stranger", "provider", "expert", "admin"):
        with filled.read(name) as work:
            (dataset,) = metadata.dcat_catalog(work, base_url=BASE).document["dcat:dataset"]
            listed = releases.list_releases(work, product="clinic").items
        shown = [file["@id"].rpartition("/")[2] for file in dataset["dcat:distribution"]]
        assert shown == [release.id for release in listed if release.state is ReleaseState.VERIFIED]
