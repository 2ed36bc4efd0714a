"""schemathesis over the API's own description, against a real server with real things in it: it finds nothing."""

from __future__ import annotations

import copy
import json
import random
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests
from hypothesis import HealthCheck, settings

from aegis.catalog.server.api.app import description

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis.checks import CHECKS, load_all_checks
    from schemathesis.generation.feedback import FeedbackSources
    from schemathesis.pytest._test_builder import build_operation_test
    from schemathesis.python._constants.orchestrator import make_constants_value_source

    load_all_checks()
    schemathesis.serializer.alias(
        ["application/x-tar", "application/gzip", "application/zip"], "application/octet-stream"
    )

if TYPE_CHECKING:
    from tests.catalog.api.conftest import Stage
else:
    Stage = Any


def _open_description() -> dict[str, Any]:
    """Without who may ask: the token is put in below, and that nobody gets in without one has its own test."""
    told = copy.deepcopy(description())
    del told["components"]["securitySchemes"]
    for operations in told["paths"].values():
        for operation in operations.values():
            operation["security"] = []
    return told


# What does not fit the schema is refused by any 4xx: too much at once is 413, before anything is looked at.
CONFIG = schemathesis.Config.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": ["4xx"]}}})
DOCUMENTED = json.loads((Path(__file__).parents[3] / "docs/reference/api/openapi.json").read_text(encoding="utf-8"))
OPERATIONS = [f"{method.upper()} {path}" for path, methods in DOCUMENTED["paths"].items() for method in methods]
# A schema cannot say that a column must be one of the product's, or that a token makes no tokens: what fits the schema
# may still be refused, with a 4xx of the one shape. Every other check applies.
LEFT_OUT = ["positive_data_acceptance"]
EXCLUDED = CHECKS.get_by_names(LEFT_OUT)


@pytest.fixture(scope="module")
def known(stage: Stage) -> dict[str, list[str]]:
    """Things that are there, so that calls get far."""
    stage.new_summary(stage.product)
    configuration = stage.new_configuration(stage.product)
    request = stage.new_request(stage.product, approved=True)
    release = stage.new_release(stage.product, request_id=request)
    listed = stage.send("admin", "GET", f"/jobs?product={stage.product}").json()["items"]
    return {
        "product": [stage.product],
        "configuration_id": [configuration],
        "request_id": [request, stage.new_request(stage.product)],
        "release_id": [release],
        "user_id": [str(stage.people["visitor"].actor.user_id)],
        "job_id": [listed[0]["id"]],
    }


@pytest.fixture(scope="module")
def session() -> Any:
    with requests.Session() as opened:
        yield opened


@pytest.fixture(scope="module")
def operations() -> dict[str, Any]:
    """The operations of the description by their labels."""
    schema = schemathesis.openapi.from_dict(_open_description(), config=CONFIG)
    readable: list[Any] = list(schema.get_all_operations())
    return {operation.label: operation for operation in (result.ok() for result in readable)}


def test_every_operation_is_tried(operations: dict[str, Any]) -> None:
    assert set(operations) == set(OPERATIONS)


# Not `schema.parametrize`: that makes the cases of all operations while collecting, a third of the whole suite's time
# for it, in every worker.
@pytest.mark.parametrize("label", OPERATIONS)
def test_schemathesis_finds_nothing(
    label: str, operations: dict[str, Any], stage: Stage, known: dict[str, list[str]], session: requests.Session
) -> None:
    calls: list[Any] = []

    def call(case: Any) -> None:
        calls.append(case)
        if case.meta.generation.mode.is_positive:
            rng = random.Random(repr(sorted(case.path_parameters.items())))
            for name, listed in known.items():
                if name in case.path_parameters and rng.random() < 0.7:
                    case.path_parameters[name] = rng.choice(listed)
        case.call_and_validate(
            base_url=stage.url,
            headers=stage.people["admin"].headers,
            session=session,
            excluded_checks=EXCLUDED,
        )

    operation = operations[label]
    test = build_operation_test(
        config=operation.schema.config,
        operation=operation,
        test_func=call,
        given_kwargs={},
        feedback=FeedbackSources(constants_value_source=make_constants_value_source(operation.schema)),
        explicit_settings=settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck)),
    )
    test()
    assert calls
