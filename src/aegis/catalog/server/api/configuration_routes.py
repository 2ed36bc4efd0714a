"""Masking configurations of a product."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import IdPath, ProductPath
from aegis.catalog.server.api.calls import ApiRouter
from aegis.catalog.service import configurations, previews
from aegis.catalog.service.catalog import Work

router = ApiRouter(tags=["configurations"])


@router.reads("/products/{product}/configurations", "Configurations")
def list_configurations(
    work: Work,
    product: ProductPath,
    withdrawn: Annotated[bool, Query(description="Also those that were withdrawn.")] = False,
) -> records.Configurations:
    """The configurations of a product, by name."""
    listed = configurations.list_configurations(work, product=product, withdrawn=withdrawn)
    return records.Configurations(items=tuple(listed))


@router.writes("/products/{product}/configurations", "Propose", status=201, costly=True)
def propose(work: Work, product: ProductPath, proposal: bodies.Proposal) -> records.Configurations:
    """Enter one configuration or many; one that does the same as a known one is that one."""
    return records.Configurations(items=tuple(configurations.propose(work, product=product, **proposal.keywords())))


@router.writes("/products/{product}/configurations/generate", "Generate configurations", status=201, costly=True)
def generate(work: Work, product: ProductPath, body: bodies.Generation) -> records.Configurations:
    """Make configurations from the published domains of the current summary, and enter them."""
    return records.Configurations(items=tuple(configurations.generate(work, product=product, **body.keywords())))


@router.reads("/products/{product}/preview", "Preview a mask", method="POST", costly=True)
def preview(work: Work, product: ProductPath, body: bodies.PreviewRequest) -> records.Preview:
    """What a mask does to the published values of a column: never rows, never rare values. Nothing is written."""
    return previews.preview(work, product=product, column=body.column, mask=body.mask)


@router.reads("/configurations/{configuration_id}", "One configuration")
def one(work: Work, configuration_id: IdPath) -> records.Configuration:
    """One configuration."""
    return configurations.configuration(work, configuration_id=configuration_id)


@router.reads(
    "/configurations/{configuration_id}/file",
    "A configuration as a file",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"application/yaml": {"schema": {"type": "object"}}}}},
)
def file(work: Work, configuration_id: IdPath) -> Response:
    """The configuration as the YAML file that `aegis release` takes."""
    text = configurations.as_yaml(configurations.configuration(work, configuration_id=configuration_id))
    return Response(text, media_type="application/yaml")


@router.writes("/configurations/{configuration_id}/withdraw", "Withdraw it")
def withdraw(work: Work, configuration_id: IdPath) -> records.Configuration:
    """Offer it no longer; a conflict while an approved request relies on it."""
    return configurations.withdraw(work, configuration_id=configuration_id)
