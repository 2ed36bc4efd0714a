"""API tokens of one's own, and for administrators those of others."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import Id, IdPath
from aegis.catalog.server.api.calls import JsonRoute, Paged, Read, Write
from aegis.catalog.service import tokens

router = APIRouter(prefix="/tokens", tags=["tokens"], route_class=JsonRoute)


@router.get("", response_model=Page[records.Token], summary="Tokens")
def list_tokens(
    call: Read,
    page: Paged,
    user_id: Annotated[Id | None, Query(description="Somebody else's, for administrators.")] = None,
) -> Any:
    """One's own tokens, the newest first."""
    with call.read() as work:
        return tokens.list_tokens(work, user_id=user_id, page=page)


@router.post("", response_model=records.NewToken, status_code=201, summary="Make a token")
def create(call: Write, body: bodies.NewToken) -> Response:
    """A token of one's own; its text is shown once. A token makes no tokens: this needs a session."""
    return call.once(
        records.NewToken,
        lambda work: tokens.create_token(
            work, name=body.name, scopes=body.scopes, days=body.days, product=body.product
        ),
        body=body,
        status=201,
        secret="text",  # noqa: S106 - the name of a field
    )


@router.post("/{token_id}/revoke", response_model=records.Token, summary="Revoke a token")
def revoke(call: Write, token_id: IdPath) -> Response:
    """Make a token useless at once; twice is no error."""
    return call.once(records.Token, lambda work: tokens.revoke_token(work, token_id=token_id))
