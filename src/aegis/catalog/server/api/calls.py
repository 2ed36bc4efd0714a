"""What every handler of the API starts from: the catalog, who calls, and the key that makes a write happen once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Header, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from aegis.catalog import records
from aegis.catalog.server.api.bodies import Cursor, PageSize
from aegis.catalog.server.retries import again_if_undone
from aegis.catalog.service import idempotency
from aegis.catalog.service.catalog import Catalog, Work
from aegis.catalog.service.idempotency import Remembered
from aegis.catalog.service.paging import DEFAULT_SIZE, PageRequest
from aegis.catalog.service.permissions import Actor
from aegis.errors import ConflictError
from aegis.releases.json_keys import RepeatedKeyError, without_repeated_keys

IDEMPOTENCY_KEY = "Idempotency-Key"
T = TypeVar("T")


class _JsonRequest(Request):
    """A request whose body says nothing twice."""

    async def json(self) -> Any:
        try:
            return json.loads(await self.body(), object_pairs_hook=without_repeated_keys)
        except RepeatedKeyError:
            raise json.JSONDecodeError("a key stands twice in one object", "", 0) from None


class JsonRoute(APIRoute):
    """A route that refuses a body in which a key stands twice: of two readers one takes the first, one the last."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            return await handle(_JsonRequest(request.scope, request.receive))

        return handle_json


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """A call that only looks."""

    catalog: Catalog
    actor: Actor

    def read(self) -> AbstractContextManager[Work]:
        return self.catalog.read(self.actor)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCall:
    """A call that changes something; ``key`` names this one change."""

    catalog: Catalog
    actor: Actor
    key: str | None
    place: str

    def once(
        self,
        kind: type[T],
        act: Callable[[Work], T],
        *,
        body: Any = None,
        status: int = 200,
        secret: str | None = None,
    ) -> Response:
        """Do it and answer with the record that came out; the same key and content get the same answer again.

        The answer is remembered in the transaction of the act itself, so there is never one without the other.
        ``secret`` names a field that is shown once and not remembered.
        """
        return again_if_undone(
            lambda: self._once(kind, act, body=body, status=status, secret=secret), is_keyed=self.key is not None
        )

    def _once(self, kind: type[T], act: Callable[[Work], T], *, body: Any, status: int, secret: str | None) -> Response:
        if self.key is None:
            with self.catalog.write(self.actor) as work:
                return _answer(status, records.write(kind, act(work)))
        fingerprint = self._fingerprint(body)
        try:
            with self.catalog.write(self.actor) as work:
                remembered = idempotency.recall(work, key=self.key, fingerprint=fingerprint)
                if remembered is not None:
                    return _again(remembered)
                content = records.write(kind, act(work))
                to_remember = content if secret is None else {**content, secret: ""}
                idempotency.remember(work, key=self.key, fingerprint=fingerprint, status=status, body=to_remember)
            return _answer(status, content)
        except ConflictError:
            # The same key may have been at work in another process: then its answer is the answer.
            with self.catalog.read(self.actor) as work:
                remembered = idempotency.recall(work, key=self.key, fingerprint=fingerprint)
            if remembered is None:
                raise
            return _again(remembered)

    def again(self, body: Any) -> Response | None:
        """The answer that the same key and content got before, where it is known before the act is prepared."""
        if self.key is None:
            return None
        with self.catalog.read(self.actor) as work:
            remembered = idempotency.recall(work, key=self.key, fingerprint=self._fingerprint(body))
        return None if remembered is None else _again(remembered)

    def _fingerprint(self, body: Any) -> str:
        plain = body.model_dump(mode="json") if isinstance(body, BaseModel) else body
        text = json.dumps([self.place, plain], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _answer(status: int, content: Any) -> Response:
    return JSONResponse(content, status_code=status)


def _again(remembered: Remembered) -> Response:
    return JSONResponse(remembered.body, status_code=remembered.status, headers={"Idempotency-Replayed": "true"})


def _reading(request: Request) -> ReadCall:
    return ReadCall(catalog=request.app.state.catalog, actor=request.state.identity.actor)


async def reading(request: Request) -> ReadCall:
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
) -> WriteCall:
    place = f"{request.method} {request.url.path}?{request.url.query}"
    return WriteCall(catalog=request.app.state.catalog, actor=request.state.identity.actor, key=key, place=place)


async def page(page_size: PageSize = DEFAULT_SIZE, cursor: Cursor = None) -> PageRequest:
    return PageRequest(size=page_size, cursor=cursor or None)


Read = Annotated[ReadCall, Depends(reading)]
Write = Annotated[WriteCall, Depends(writing)]
Paged = Annotated[PageRequest, Depends(page)]
