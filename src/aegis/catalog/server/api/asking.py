"""What every handler starts from: the catalog, who asks, and, for writes, the key that makes them happen once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from aegis.catalog.server.api.models.fields import Cursor, PageSize
from aegis.catalog.service import idempotency
from aegis.catalog.service.actor import Actor
from aegis.catalog.service.catalog import Catalog, Work
from aegis.catalog.service.idempotency import Remembered
from aegis.catalog.service.paging import DEFAULT_SIZE, PageRequest
from aegis.errors import ConflictError

IDEMPOTENCY_KEY = "Idempotency-Key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Somebody who wants to see something."""

    catalog: Catalog
    actor: Actor

    def work(self) -> AbstractContextManager[Work]:
        return self.catalog.read(self.actor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """Somebody who wants to change something; ``key`` names this one change."""

    catalog: Catalog
    actor: Actor
    key: str | None
    place: str

    def once(
        self,
        shape: type[BaseModel],
        act: Callable[[Work], Any],
        *,
        sent: Any = None,
        status: int = 200,
        secret: str | None = None,
    ) -> Response:
        """Do it and answer with what came out, in ``shape``; the same key and content get the same answer again.

        The answer is remembered in the transaction of the act itself, so there is never one without the other.
        ``secret`` names a field that is shown once and not remembered.
        """
        if self.key is None:
            with self.catalog.write(self.actor) as work:
                return _answer(status, _rendered(shape, act(work)))
        fingerprint = self._fingerprint(sent)
        try:
            with self.catalog.write(self.actor) as work:
                known = idempotency.recall(work, key=self.key, fingerprint=fingerprint)
                if known is not None:
                    return _again(known)
                content = _rendered(shape, act(work))
                kept = content if secret is None else {**content, secret: None}
                idempotency.remember(work, key=self.key, fingerprint=fingerprint, status=status, body=kept)
            return _answer(status, content)
        except ConflictError:
            # The same key may have been at work in another process: then its answer is the answer.
            with self.catalog.read(self.actor) as work:
                known = idempotency.recall(work, key=self.key, fingerprint=fingerprint)
            if known is None:
                raise
            return _again(known)

    def again(self, sent: Any) -> Response | None:
        """The answer that the same key and content got before, where it is known before the act is prepared."""
        if self.key is None:
            return None
        with self.catalog.read(self.actor) as work:
            known = idempotency.recall(work, key=self.key, fingerprint=self._fingerprint(sent))
        return None if known is None else _again(known)

    def _fingerprint(self, sent: Any) -> str:
        plain = sent.model_dump(mode="json") if isinstance(sent, BaseModel) else sent
        text = json.dumps([self.place, plain], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _rendered(shape: type[BaseModel], view: Any) -> dict[str, Any]:
    return shape.model_validate(view).model_dump(mode="json")


def _answer(status: int, content: Any) -> Response:
    return JSONResponse(content, status_code=status)


def _again(known: Remembered) -> Response:
    return JSONResponse(known.body, status_code=known.status, headers={"Idempotency-Replayed": "true"})


def _reading(request: Request) -> Reading:
    return Reading(catalog=request.app.state.catalog, actor=request.state.actor)


async def reading(request: Request) -> Reading:
    return _reading(request)


async def writing(
    request: Request,
    key: Annotated[
        str | None,
        Header(
            alias=IDEMPOTENCY_KEY,
            min_length=1,
            max_length=128,
            pattern=r"^[\x21-\x7e]+$",
            description="Any text of your choice: repeating a call with the same key and content does it once and "
            "gives the same answer; with another content it is refused.",
        ),
    ] = None,
) -> Writing:
    place = f"{request.method} {request.url.path}?{request.url.query}"
    return Writing(catalog=request.app.state.catalog, actor=request.state.actor, key=key, place=place)


async def page(page_size: PageSize = DEFAULT_SIZE, cursor: Cursor = None) -> PageRequest:
    return PageRequest(size=page_size, cursor=cursor or None)


Read = Annotated[Reading, Depends(reading)]
Write = Annotated[Writing, Depends(writing)]
Paged = Annotated[PageRequest, Depends(page)]
