"""API tokens: hashed, scoped, expiring, shown once."""

from __future__ import annotations

from collections.abc import Iterable

from aegis.service.catalog import Work
from aegis.service.paging import FIRST, Page, PageRequest
from aegis.service.views import NewToken, TokenView


def create_token(
    work: Work, *, name: str, scopes: Iterable[str], days: int = 90, product: str | None = None
) -> NewToken:
    """A token of one's own, for ``days`` days, perhaps for one product (name or id) only. Tokens make no tokens."""
    raise NotImplementedError


def list_tokens(work: Work, *, user_id: str | None = None, page: PageRequest = FIRST) -> Page[TokenView]:
    """One's own tokens, or for an administrator those of somebody else; the newest first."""
    raise NotImplementedError


def revoke_token(work: Work, *, token_id: str) -> TokenView:
    """Make a token useless at once; twice is no error."""
    raise NotImplementedError
