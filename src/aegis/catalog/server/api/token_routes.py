"""API tokens of one's own, and for administrators those of others."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from aegis.catalog import records
from aegis.catalog.records import Page
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import Id, IdPath
from aegis.catalog.server.api.calls import ApiRouter, Paged
from aegis.catalog.service import tokens
from aegis.catalog.service.catalog import Work

router = ApiRouter(prefix="/tokens", tags=["tokens"])


@router.reads("", "Tokens")
def list_tokens(
    work: Work,
    page: Paged,
    user_id: Annotated[Id | None, Query(description="Somebody else's, for administrators.")] = None,
) -> Page[records.Token]:
    """One's own tokens, the newest first."""
    return tokens.list_tokens(work, user_id=user_id, page=page)


@router.writes("", "Make a token", status=201, secret="text")  # noqa: S106 - the name of a field
def create(work: Work, body: bodies.NewToken) -> records.NewToken:
    """A token of one's own; its text is shown once. A token makes no tokens: this needs a session."""
    return tokens.create_token(work, **body.keywords())


@router.writes("/{token_id}/revoke", "Revoke a token")
def revoke(work: Work, token_id: IdPath) -> records.Token:
    """Make a token useless at once; twice is no error."""
    return tokens.revoke_token(work, token_id=token_id)
