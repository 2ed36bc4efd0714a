"""API tokens of one's own, and for administrators those of others."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from aegis.catalog.server.api.asking import Paged, Read, Write
from aegis.catalog.server.api.models import persons, sent
from aegis.catalog.server.api.models.fields import Id, IdPath, PageOf
from aegis.catalog.service import tokens

router = APIRouter(prefix="/tokens", tags=["tokens"])


@router.get("", response_model=PageOf[persons.Token], summary="Tokens")
def list_tokens(
    asked: Read,
    page: Paged,
    user_id: Annotated[Id | None, Query(description="Somebody else's, for administrators.")] = None,
) -> Any:
    """One's own tokens, the newest first."""
    with asked.work() as work:
        return tokens.list_tokens(work, user_id=user_id, page=page)


@router.post("", response_model=persons.NewToken, status_code=201, summary="Make a token")
def create(asked: Write, wanted: sent.TokenOf) -> Response:
    """A token of one's own; its text is shown once. A token makes no tokens: this needs a session."""
    return asked.once(
        persons.NewToken,
        lambda work: tokens.create_token(
            work, name=wanted.name, scopes=wanted.scopes, days=wanted.days, product=wanted.product
        ),
        sent=wanted,
        status=201,
        secret="text",  # noqa: S106 - the name of a field
    )


@router.post("/{token_id}/revoke", response_model=persons.Token, summary="Revoke a token")
def revoke(asked: Write, token_id: IdPath) -> Response:
    """Make a token useless at once; twice is no error."""
    return asked.once(persons.Token, lambda work: tokens.revoke_token(work, token_id=token_id))
