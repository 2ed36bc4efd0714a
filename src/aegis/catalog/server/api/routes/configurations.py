"""Masking configurations of a product."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from aegis.catalog.server.api.asking import Read, Write
from aegis.catalog.server.api.models import given, sent
from aegis.catalog.server.api.models.fields import IdPath, ProductPath
from aegis.catalog.service import configurations

router = APIRouter(tags=["configurations"])


@router.get("/products/{product}/configurations", response_model=given.Configurations, summary="Configurations")
def list_configurations(
    asked: Read,
    product: ProductPath,
    withdrawn: Annotated[bool, Query(description="Also those that were withdrawn.")] = False,
) -> Any:
    """The configurations of a product, by name."""
    with asked.work() as work:
        return {"items": configurations.list_configurations(work, product=product, withdrawn=withdrawn)}


@router.post(
    "/products/{product}/configurations", response_model=given.Configurations, status_code=201, summary="Propose"
)
def propose(asked: Write, product: ProductPath, proposal: sent.Proposal) -> Response:
    """Enter one configuration or many; one that does the same as a known one is that one."""
    return asked.once(
        given.Configurations,
        lambda work: {
            "items": configurations.propose(work, product=product, content=proposal.content, name=proposal.name)
        },
        sent=proposal,
        status=201,
    )


@router.post(
    "/products/{product}/configurations/generate",
    response_model=given.Configurations,
    status_code=201,
    summary="Generate configurations",
)
def generate(asked: Write, product: ProductPath, wanted: sent.Generation) -> Response:
    """Make configurations from the published domains of the current summary, and enter them."""
    return asked.once(
        given.Configurations,
        lambda work: {
            "items": configurations.generate(
                work, product=product, count=wanted.count, strength=wanted.strength, seed=wanted.seed
            )
        },
        sent=wanted,
        status=201,
    )


@router.post("/products/{product}/preview", response_model=given.Preview, summary="Preview a mask")
def preview(asked: Read, product: ProductPath, wanted: sent.PreviewOf) -> Any:
    """What a mask does to the published values of a column: never rows, never rare values. Nothing is written."""
    with asked.work() as work:
        return configurations.preview(work, product=product, column=wanted.column, mask=wanted.mask)


@router.get("/configurations/{configuration_id}", response_model=given.Configuration, summary="One configuration")
def one(asked: Read, configuration_id: IdPath) -> Any:
    """One configuration."""
    with asked.work() as work:
        return configurations.configuration(work, configuration_id=configuration_id)


@router.get(
    "/configurations/{configuration_id}/file",
    response_class=Response,
    responses={200: {"content": {"application/yaml": {"schema": {"type": "object"}}}}},
    summary="A configuration as a file",
)
def file(asked: Read, configuration_id: IdPath) -> Response:
    """The configuration as the YAML file that `aegis release` takes."""
    with asked.work() as work:
        text = configurations.as_yaml(configurations.configuration(work, configuration_id=configuration_id))
    return Response(text, media_type="application/yaml")


@router.post("/configurations/{configuration_id}/withdraw", response_model=given.Configuration, summary="Withdraw it")
def withdraw(asked: Write, configuration_id: IdPath) -> Response:
    """Offer it no longer; a conflict while an approved request relies on it."""
    return asked.once(
        given.Configuration, lambda work: configurations.withdraw(work, configuration_id=configuration_id)
    )
