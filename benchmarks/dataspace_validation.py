"""The catalog's documents for portals and data spaces under the published shapes and schemas.

The shapes of DCAT-AP 3.0.1 and the schemas and contexts of the Dataspace Protocol 2025-1 are not part of Aegis. They
are taken from a package that carries them unchanged, with where each came from and its hash; the validators run in an
interpreter of their own:

    python -m venv VALIDATOR && VALIDATOR/bin/pip install pyshacl==0.40.1 jsonschema==4.26.0
    pip download --no-deps --python-version 3.13 --only-binary :all: httk-serve==2.1.3
    unzip httk_serve-2.1.3-py3-none-any.whl 'httk/serve/dsp/schemas/*' -d SHAPES
    python benchmarks/dataspace_validation.py --validator-python VALIDATOR/bin/python \
        --shapes SHAPES/httk/serve/dsp/schemas

Products are made as people make them (those of croissant_validation.py), and everything is asked for over the API: the
whole catalog and each product as DCAT-AP, the catalog (with products and without), each dataset, the versions and four
refusals of the Dataspace Protocol. What is held against what:

- every DCAT document as a graph against the SHACL shapes of DCAT-AP 3.0.1, their ranges included;
- every ODRL offer in it against the terms of the W3C's vocabulary (as rdflib carries them) and the cardinalities of the
  information model, for which nobody publishes shapes: one assigner, a rule at least, one action and one target a rule;
- every message of the Dataspace Protocol against its JSON schema, the offers in it against that of contracts;
- every message through the published JSON-LD context: no key may vanish on the way to a graph, and actions and operands
  must come out as terms of ODRL or of our own;
- a document that lacks something mandatory must be found by each of the validators, so that silence means something.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from _result import write
from aegis.catalog.server.app import create_site
from aegis.catalog.service import products, tokens
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.settings import Settings
from aegis.catalog.states import ProductState
from croissant_validation import filled

BASE = "https://catalog.example.org"
DCAT_SHAPES = "dcat-ap/dcat-ap-SHACL.ttl"
ASK = {"@context": ["https://w3id.org/dspace/2025/1/context.jsonld"], "@type": "CatalogRequestMessage"}

# What the other interpreter runs: documents in, what the validators say out.
VALIDATOR = """
import importlib.metadata, json, pathlib, sys
import rdflib
from jsonschema import Draft201909Validator
from pyshacl import validate
from referencing import Registry, Resource
from rdflib import ODRL2, RDF, SH

given = json.loads(sys.stdin.read())
folder = pathlib.Path(given["shapes"])

shapes = rdflib.Graph().parse(folder / given["dcat_shapes"], format="turtle")
# The published graph names property shapes that it does not define; they constrain nothing and pySHACL refuses them.
named = list(shapes.subject_objects(SH.property))
undefined = [(shape, place) for shape, place in named if (place, None, None) not in shapes]
for shape, place in undefined:
    shapes.remove((shape, SH.property, place))

schemas = {}
for path in folder.rglob("*-schema.json"):
    text = path.read_text(encoding="utf-8").replace(".json#definitions/", ".json#/definitions/")
    schema = json.loads(text)
    schemas[schema["$id"]] = schema
registry = Registry().with_resources([(key, Resource.from_contents(schema)) for key, schema in schemas.items()])
context = json.loads((folder / "context/dspace.jsonld").read_text(encoding="utf-8"))["@context"]
odrl_context = json.loads((folder / "context/odrl.jsonld").read_text(encoding="utf-8"))["@context"]


def graph_of(document):
    return rdflib.Graph().parse(data=json.dumps(document), format="json-ld")


def shacl(document):
    _, report, _ = validate(graph_of(document), shacl_graph=shapes, advanced=True)
    found = []
    for result in report.subjects(RDF.type, SH.ValidationResult):
        named = (report.value(result, part) for part in (SH.resultPath, SH.sourceConstraintComponent))
        place, rule = (str(each).split("/")[-1].split("#")[-1] for each in named)
        found.append(f"{place}: {rule}: {report.value(result, SH.resultMessage)}"[:300])
    return sorted(set(found))


def odrl(document):
    graph, found = graph_of(document), []
    start = str(ODRL2._NS)
    terms = {str(term) for triple in graph for term in triple if str(term).startswith(start)}
    for term in sorted(terms):
        if term.removeprefix(start) not in ODRL2:
            found.append(f"not in the vocabulary: {term}")
    for offer in graph.subjects(RDF.type, ODRL2.Offer):
        if len(list(graph.objects(offer, ODRL2.assigner))) != 1:
            found.append("an offer has one assigner")
        rules = [rule for kind in (ODRL2.permission, ODRL2.prohibition, ODRL2.obligation)
                 for rule in graph.objects(offer, kind)]
        if not rules:
            found.append("an offer has a rule at least")
        for rule in rules:
            for part in (ODRL2.action, ODRL2.target):
                if len(list(graph.objects(rule, part))) != 1:
                    found.append(f"a rule has one {part.removeprefix(start)}")
        for limit in graph.objects(None, ODRL2.constraint):
            for part in (ODRL2.leftOperand, ODRL2.operator, ODRL2.rightOperand):
                if len(list(graph.objects(limit, part))) != 1:
                    found.append(f"a constraint has one {part.removeprefix(start)}")
    if not list(graph.subjects(RDF.type, ODRL2.Offer)):
        found.append("there is no offer")
    return sorted(set(found))


def schema(document, name):
    rule = {"$ref": "https://w3id.org/dspace/2025/1/" + name}
    checker = Draft201909Validator(rule, registry=registry)
    return sorted(f"{error.json_path}: {error.message}"[:300] for error in checker.iter_errors(document))


def resolved(part):
    # The context imports the profile of ODRL by its address: it is put in its place, as an importing processor does.
    if isinstance(part, dict):
        part = {key: resolved(value) for key, value in part.items()}
        if part.pop("@import", None):
            part = {**resolved(odrl_context), **part}
    return part


def keys_of(document):
    if isinstance(document, list):
        return [key for each in document for key in keys_of(each)]
    if not isinstance(document, dict):
        return []
    own = [key for key in document if not key.startswith("@")]
    return own + [key for each in document.values() for key in keys_of(each)]


def context_of(document):
    graph, found = graph_of({**document, "@context": resolved(context)}), []
    triples = len(graph)
    start = str(ODRL2._NS)
    for part in (ODRL2.action, ODRL2.leftOperand, ODRL2.operator):
        for term in graph.objects(None, part):
            if not term.startswith("urn:aegis:") and term.removeprefix(start) not in ODRL2:
                found.append(f"no term for {part.removeprefix(start)}: {term}")
    for key in sorted(set(keys_of(document))):
        marked = json.loads(json.dumps(document), object_pairs_hook=lambda pairs: {k: v for k, v in pairs if k != key})
        if len(graph_of({**marked, "@context": resolved(context)})) >= triples:
            found.append(f"the context does not know {key}")
    return found


told = []
for case in given["cases"]:
    found = {}
    for check in case["checks"]:
        name, _, which = check.partition(" ")
        checker = {"SHACL": shacl, "ODRL": odrl, "context": context_of}.get(name)
        found[check] = checker(case["document"]) if checker else schema(case["document"], which)
    told.append(found)
versions = {name: importlib.metadata.version(name) for name in ("pyshacl", "rdflib", "jsonschema")}
print(json.dumps({"versions": versions, "told": told, "undefined_shapes": len(undefined), "shapes": len(shapes)}))
"""


def asked(client: TestClient, names: list[str]) -> list[dict[str, Any]]:
    """Everything that the API says to portals and data spaces, with what each is held against."""
    dcat = ["SHACL", "ODRL"]
    cases = [_case("the catalog as DCAT-AP", client.get("/api/v1/dcat"), dcat), *_pages(client, dcat)]
    cases += [_case(f"{name} as DCAT-AP", client.get(f"/api/v1/products/{name}/dcat"), dcat) for name in names]
    answer = client.post("/api/v1/dsp/2025-1/catalog/request", json=ASK)
    cases.append(_case("the catalog as a message", answer, ["schema catalog/catalog-schema.json", "context"]))
    for dataset in answer.json()["dataset"]:
        reply = client.get(f"/api/v1/dsp/2025-1/catalog/datasets/{dataset['@id']}")
        checks = ["schema catalog/dataset-schema.json", "context"]
        name = dataset["dct:title"]["@value"]
        cases.append(_case(f"{name} as a message", reply, checks))
        for offer in dataset["hasPolicy"]:
            title = f"the offer of {name}"
            cases.append(
                {
                    "what": title,
                    "document": offer,
                    "checks": ["schema negotiation/contract-schema.json#/definitions/Offer"],
                }
            )
    versions = client.get("/api/v1/dsp/.well-known/dspace-version")
    cases.append(_case("the versions", versions, ["schema common/protocol-version-schema.json"]))
    request = {"what": "the request", "document": ASK, "checks": ["schema catalog/catalog-request-message-schema.json"]}
    refusals = {
        "a dataset that is not there": client.get(f"/api/v1/dsp/2025-1/catalog/datasets/{'0' * 32}"),
        "a filter": client.post("/api/v1/dsp/2025-1/catalog/request", json=ASK | {"filter": [{"a": 1}]}),
        "another message": client.post("/api/v1/dsp/2025-1/catalog/request", json=ASK | {"@type": "Other"}),
        "nobody who is known": client.get(
            "/api/v1/dsp/2025-1/catalog/datasets/x", headers={"Authorization": "Bearer no"}
        ),
    }
    errors = ["schema catalog/catalog-error-schema.json", "refused"]
    return [*cases, request, *(_case(f"refused: {what}", said, errors) for what, said in refusals.items())]


def _pages(client: TestClient, checks: list[str]) -> list[dict[str, Any]]:
    """The catalog two products at a time, each page found by the link of the one before."""
    cases: list[dict[str, Any]] = []
    address = "/api/v1/dcat?page_size=2"
    while True:
        answer = client.get(address)
        cases.append(_case(f"page {len(cases) + 1} of the catalog as DCAT-AP", answer, checks))
        if "next" not in answer.links:
            return cases
        address = answer.links["next"]["url"]


def asked_of_nothing(client: TestClient) -> list[dict[str, Any]]:
    """The catalog when nothing is published any more."""
    message = client.post("/api/v1/dsp/2025-1/catalog/request", json=ASK)
    return [
        _case("nothing as DCAT-AP", client.get("/api/v1/dcat"), ["SHACL"]),
        _case("nothing as a message", message, ["schema catalog/catalog-schema.json", "context"]),
    ]


def _case(what: str, response: Any, checks: list[str]) -> dict[str, Any]:
    refused = "refused" in checks
    if (response.status_code >= 400) is not refused:
        raise SystemExit(f"{what}: answered {response.status_code}")
    return {"what": what, "document": response.json(), "checks": [check for check in checks if check != "refused"]}


def broken(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Documents without something mandatory: whoever does not find that checks nothing."""

    def without(what: str, check: str, *path: str | int) -> dict[str, Any]:
        document = copy.deepcopy(next(case["document"] for case in cases if case["what"] == what))
        place = document
        for step in path[:-1]:
            place = place[step]
        place.pop(path[-1])
        return {"what": f"{what} without {path[-1]}", "document": document, "checks": [check], "broken": True}

    message = "the catalog as a message"
    unknown = copy.deepcopy(next(case["document"] for case in cases if case["what"] == message)) | {"odd": 1}
    return [
        without("the catalog as DCAT-AP", "SHACL", "dct:publisher"),
        without("the catalog as DCAT-AP", "SHACL", "dcat:dataset", 0, "dct:title"),
        without("the catalog as DCAT-AP", "ODRL", "dcat:dataset", 0, "odrl:hasPolicy", "odrl:assigner"),
        without(message, "schema catalog/catalog-schema.json", "participantId"),
        without(message, "schema catalog/catalog-schema.json", "dataset", 0, "distribution"),
        without("refused: a filter", "schema catalog/catalog-error-schema.json", "@type"),
        {"what": "a message with an unknown key", "document": unknown, "checks": ["context"], "broken": True},
    ]


def main() -> int:
    """Make, ask, validate, write the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--validator-python", required=True, help="an interpreter that has pyshacl and jsonschema")
    parser.add_argument("--shapes", required=True, type=Path, help="the folder of shapes and schemas")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="aegis-dataspace-") as place:
        (Path(place) / "tables").mkdir()
        settings = Settings(argon2_time_cost=1, argon2_memory_kib=64, public_url=BASE)
        with Catalog.open(f"{place}/catalog.sqlite", Path(place) / "storage", settings=settings) as catalog:
            admin, names = filled(catalog, Path(place) / "tables")
            with catalog.write(admin) as work:
                version = products.product(work, product=names[0]).version
                products.change(work, product=names[0], version=version, tags=["health", "made up"])
                token = tokens.create_token(work, name="portal", scopes=["read"], days=1)
            headers = {"Authorization": f"Bearer {token.text}"}
            with TestClient(create_site(catalog), base_url=BASE, headers=headers) as client:
                cases = asked(client, names)
                with catalog.write(admin) as work:
                    for name in names:
                        if products.product(work, product=name).state is ProductState.PUBLISHED:
                            products.retire(work, product=name)
                cases += asked_of_nothing(client)
    cases += broken(cases)
    given = {"shapes": str(options.shapes), "dcat_shapes": DCAT_SHAPES, "cases": cases}
    run = subprocess.run(
        [options.validator_python, "-c", VALIDATOR],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        print(run.stderr[-3000:])
        return 2
    answer = json.loads(run.stdout.splitlines()[-1])
    documents = []
    for case, told in zip(cases, answer["told"], strict=True):
        found = [flaw for flaws in told.values() for flaw in flaws]
        passed = bool(found) if case.get("broken") else not found
        documents.append({"document": case["what"], "held_against": list(told), "found": found, "passed": passed})
        print("ok " if passed else "NO ", case["what"], "" if passed else found)
    files = sorted(path for path in options.shapes.rglob("*") if path.suffix in (".ttl", ".json", ".jsonld"))
    used = [
        path for path in files if "example" not in str(path) and "profile" not in str(path.relative_to(options.shapes))
    ]
    sys.argv = [sys.argv[0], "--validator-python", "VALIDATOR/bin/python", "--shapes", "SHAPES"]
    write(
        "dataspace_validation",
        {
            "dcat_ap": "3.0.1",
            "dataspace_protocol": "2025-1",
            "validators": answer["versions"],
            "shapes_from": "httk-serve 2.1.3",
            "sha256": {
                str(path.relative_to(options.shapes)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in used
                if path.name == Path(DCAT_SHAPES).name
                or path.parent.name in ("catalog", "common", "context", "negotiation")
            },
            "documents": documents,
            "passed": all(each["passed"] for each in documents),
        },
    )
    return 0 if all(each["passed"] for each in documents) else 1


if __name__ == "__main__":
    raise SystemExit(main())
