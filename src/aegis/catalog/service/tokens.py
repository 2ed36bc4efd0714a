"""API tokens: hashed, scoped, expiring, shown once."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from functools import partial
from typing import Any

from sqlalchemy import Select, select

from aegis.catalog import records
from aegis.catalog.database.tables import Product, Token, User, is_id
from aegis.catalog.records import Page, Scope, record_of
from aegis.catalog.service.catalog import Work, by_id, visible_product
from aegis.catalog.service.checks import checked_line, checked_whole
from aegis.catalog.service.paging import FIRST, PageRequest, page_of
from aegis.catalog.service.permissions import Permission, may, require
from aegis.catalog.service.sessions import hash_of, new_secret
from aegis.errors import InputError, NotFoundError

MARK = "aegis_"
"""How every token begins, so that scanners of source code find lost ones."""


def create_token(
    work: Work, *, name: str, scopes: Iterable[str], days: int = 90, product: str | None = None
) -> records.NewToken:
    """A token of one's own, perhaps for one product only; its text is shown once. A token makes no tokens."""
    require(work.actor, Permission.MANAGE_OWN_TOKENS)
    names = list(scopes) if not isinstance(scopes, str) else [scopes]
    if not names or not all(isinstance(scope, str) and scope in set(Scope) for scope in names):
        raise InputError(f"a token needs one or more of the scopes {', '.join(Scope)}")
    checked_whole(days, what="the number of days", least=1, most=work.settings.token_days)
    product_row = None if product is None else visible_product(work, product)
    text = MARK + new_secret()
    token = work.add(
        Token(
            user_id=work.user_id,
            name=checked_line(name, what="the token's name", most=120),
            hash=hash_of(text),
            prefix=text[: len(MARK) + 6],
            scopes=sorted(set(names)),
            product_id=None if product_row is None else product_row.id,
            created_at=work.now,
            expires_at=work.now + datetime.timedelta(days=days),
        )
    )
    work.record("token made", token, scopes=token.scopes, days=days)
    view = _view(work, token, work.actor.name, None if product_row is None else product_row.name)
    return records.NewToken(token=view, text=text)


def list_tokens(
    work: Work, *, user_id: str | None = None, valid: bool = False, page: PageRequest = FIRST
) -> Page[records.Token]:
    """One's own tokens, or for an administrator those of somebody else; the newest first."""
    if user_id is not None and user_id != work.actor.user_id:
        require(work.actor, Permission.MANAGE_PEOPLE)
    else:
        require(work.actor, Permission.MANAGE_OWN_TOKENS)
    if user_id is not None and not is_id(user_id):
        raise NotFoundError("there is no such person; look at the list of people")
    query = _selected().where(Token.user_id == (user_id or work.actor.user_id))
    if valid:
        query = query.where(Token.revoked_at.is_(None), Token.expires_at > work.now)
    keys = (Token.created_at, Token.id)
    return page_of(work.session, query, partial(_view, work), keys=keys, page=page, descending=True)


def revoke_token(work: Work, *, token_id: str) -> records.Token:
    """Make a token useless at once; twice is no error."""
    require(work.actor, Permission.SEE_CATALOG)
    token = by_id(work, Token, token_id, lock=True)
    if token is not None and token.user_id == work.actor.user_id:
        require(work.actor, Permission.MANAGE_OWN_TOKENS)  # says why not: existence is no secret to the owner
    elif token is None or not may(work.actor, Permission.MANAGE_PEOPLE):
        raise NotFoundError("there is no such token; look at the list of tokens")
    if token.revoked_at is None:
        token.revoked_at = work.now
        work.record("token revoked", token)
    return _view(work, *work.session.execute(_selected().where(Token.id == token.id)).one())


def _selected() -> Select[*tuple[Any, ...]]:
    return (
        select(Token, User.name, Product.name)
        .join(User, User.id == Token.user_id)
        .outerjoin(Product, Product.id == Token.product_id)
    )


def _view(work: Work, token: Token, user_name: str, product_name: str | None) -> records.Token:
    return record_of(
        records.Token,
        token,
        user_name=user_name,
        scopes=tuple(Scope(scope) for scope in token.scopes),
        product_name=product_name,
        valid=token.revoked_at is None and token.expires_at > work.now,
    )
