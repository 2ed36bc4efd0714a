"""Masking configurations of a product."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath, ProductPath
from aegis.catalog.server.api.calls import JsonRoute, Read, Write
from aegis.catalog.server.lanes import in_costly_lane
from aegis.catalog.service import configurations, previews

router = APIRouter(tags=["configurations"], route_class=JsonRoute)


@router.get("/products/{product}/configurations", response_model=records.Configurations, summary="Configurations")
def list_configurations(
    call: Read,
    product: ProductPath,
    withdrawn: Annotated[bool, Query(description="Also those that were withdrawn.")] = False,
) -> Any:
    """The configurations of a product, by name."""
    with call.read() as work:
        listed = configurations.list_configurations(work, product=product, withdrawn=withdrawn)
    return records.Configurations(items=tuple(listed))


@router.post(
    "/products/{product}/configurations", response_model=records.Configurations, status_code=201, summary="Propose"
)
@in_costly_lane
def propose(call: Write, product: ProductPath, proposal: bodies.Proposal) -> Response:
    """Enter one configuration or many; one that does the same as a known one is that one."""
    return call.once(
        records.Configurations,
        lambda work: records.Configurations(
            items=tuple(configurations.propose(work, product=product, content=proposal.content, name=proposal.name))
        ),
        body=proposal,
        status=201,
    )


@router.post(
    "/products/{product}/configurations/generate",
    response_model=records.Configurations,
    status_code=201,
    summary="Generate configurations",
)
@in_costly_lane
def generate(call: Write, product: ProductPath, body: bodies.Generation) -> Response:
    """Make configurations from the published domains of the current summary, and enter them."""
    return call.once(
        records.Configurations,
        lambda work: records.Configurations(
            items=tuple(
                configurations.generate(work, product=product, count=body.count, strength=body.strength, seed=body.seed)
            )
        ),
        body=body,
        status=201,
    )


@router.post("/products/{product}/preview", response_model=records.Preview, summary="Preview a mask")
@in_costly_lane
def preview(call: Read, product: ProductPath, body: bodies.PreviewRequest) -> Any:
    """What a mask does to the published values of a column: never rows, never rare values. Nothing is written."""
    with call.read() as work:
        return previews.preview(work, product=product, column=body.column, mask=body.mask)


@router.get("/configurations/{configuration_id}", response_model=records.Configuration, summary="One configuration")
def one(call: Read, configuration_id: IdPath) -> Any:
    """One configuration."""
    with call.read() as work:
        return configurations.configuration(work, configuration_id=configuration_id)


@router.get(
    "/configurations/{configuration_id}/file",
    response_class=Response,
    responses={200: {"content": {"application/yaml": {"schema": {"type": "object"}}}}},
    summary="A configuration as a file",
)
def file(call: Read, configuration_id: IdPath) -> Response:
    """The configuration as the YAML file that `aegis release` takes."""
    with call.read() as work:
        text = configurations.as_yaml(configurations.configuration(work, configuration_id=configuration_id))
    return Response(text, media_type="application/yaml")


@router.post("/configurations/{configuration_id}/withdraw", response_model=records.Configuration, summary="Withdraw it")
def withdraw(call: Write, configuration_id: IdPath) -> Response:
    """Offer it no longer; a conflict while an approved request relies on it."""
    return call.once(
        records.Configuration, lambda work: configurations.withdraw(work, configuration_id=configuration_id)
    )
