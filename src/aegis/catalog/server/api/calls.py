"""What every handler of the API starts from: a unit of work of the one who calls, and the key that makes a write happen
once.

A handler is given a `Work` and gives the record that is sent, whose type stands in its signature::

    router = ApiRouter(tags=["jobs"])

    @router.writes("/jobs/{job_id}/cancel", "Cancel a job")
    def cancel(work: Work, job_id: IdPath) -> records.Job:
        \"\"\"Stop a job that waits or runs; what it had done is thrown away.\"\"\"
        return jobs.cancel(work, job_id=job_id)
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Header, Request
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse, Response

from aegis.catalog import records
from aegis.catalog.server.api.bodies import Body, Cursor, PageSize
from aegis.catalog.server.lanes import costly as costly_lane
from aegis.catalog.server.session import public_origin
from aegis.catalog.service import idempotency
from aegis.catalog.service.catalog import Catalog, Work, again_if_undone
from aegis.catalog.service.idempotency import Remembered
from aegis.catalog.service.paging import DEFAULT_SIZE, PageRequest
from aegis.catalog.service.permissions import Actor
from aegis.errors import ConflictError
from aegis.releases.json_keys import RepeatedKeyError, without_repeated_keys

IDEMPOTENCY_KEY = "Idempotency-Key"
T = TypeVar("T")
Handler = TypeVar("Handler", bound=Callable[..., Any])


class _JsonRequest(Request):
    """A request whose body says nothing twice."""

    async def json(self) -> Any:
        try:
            return json.loads(await self.body(), object_pairs_hook=without_repeated_keys)
        except RepeatedKeyError:
            raise json.JSONDecodeError("a key stands twice in one object", "", 0) from None


class _JsonRoute(APIRoute):
    """A route that refuses a body in which a key stands twice: of two readers one takes the first, one the last."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            return await handle(_JsonRequest(request.scope, request.receive))

        return handle_json


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCall:
    """A call that only reads."""

    catalog: Catalog
    actor: Actor


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
                return JSONResponse(records.write(kind, act(work)), status_code=status)
        fingerprint = self._fingerprint(body)
        try:
            with self.catalog.write(self.actor) as work:
                remembered = idempotency.recall(work, key=self.key, fingerprint=fingerprint)
                if remembered is not None:
                    return _replayed(remembered)
                content = records.write(kind, act(work))
                to_remember = content if secret is None else {**content, secret: ""}
                idempotency.remember(work, key=self.key, fingerprint=fingerprint, status=status, body=to_remember)
            return JSONResponse(content, status_code=status)
        except ConflictError:
            # The same key may have been at work in another process: then its answer is the answer.
            replayed = self.again(body)
            if replayed is None:
                raise
            return replayed

    def again(self, body: Any) -> Response | None:
        """The answer that the same key and content got before, where it is known before the act is prepared."""
        if self.key is None:
            return None
        with self.catalog.read(self.actor) as work:
            remembered = idempotency.recall(work, key=self.key, fingerprint=self._fingerprint(body))
        return None if remembered is None else _replayed(remembered)

    def _fingerprint(self, body: Any) -> str:
        plain = body.model_dump(mode="json") if isinstance(body, Body) else body
        text = json.dumps([self.place, plain], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _replayed(remembered: Remembered) -> Response:
    return JSONResponse(remembered.body, status_code=remembered.status, headers={"Idempotency-Replayed": "true"})


async def reading(request: Request) -> ReadCall:
    return ReadCall(catalog=request.app.state.catalog, actor=request.state.identity.actor)


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


async def origin(request: Request) -> str:
    settings = request.app.state.catalog.settings
    return public_origin(settings, scheme=request.url.scheme, host=request.headers.get("host", ""))


async def session_secret(request: Request) -> str | None:
    secret: str | None = request.state.identity.secret
    return secret


Read = Annotated[ReadCall, Depends(reading)]
Write = Annotated[WriteCall, Depends(writing)]
Paged = Annotated[PageRequest, Depends(page)]
Origin = Annotated[str, Depends(origin)]
"""Where people find the catalog."""
SessionSecret = Annotated[str | None, Depends(session_secret)]
"""What the cookie of the session holds; None for a token."""


class ApiRouter(APIRouter):
    """The addresses of one subject.

    Further keywords of `reads` and `writes` are those of FastAPI. What is ``costly`` waits in a lane of its own.
    """

    def __init__(self, **described: Any) -> None:
        super().__init__(route_class=_JsonRoute, **described)

    def reads(
        self, path: str, summary: str, *, method: str = "GET", costly: bool = False, **described: Any
    ) -> Callable[[Handler], Handler]:
        """Answer with what the handler below finds; tried again where the database broke off."""

        def add(handler: Handler) -> Handler:
            def answer(call: ReadCall, **values: Any) -> Any:
                def look() -> Any:
                    with call.catalog.read(call.actor) as work:
                        return handler(work, **values)

                return again_if_undone(look)

            self._add(path, handler, answer, Read, costly=costly, methods=[method], summary=summary, **described)
            return handler

        return add

    def writes(
        self,
        path: str,
        summary: str,
        *,
        method: str = "POST",
        status: int = 200,
        secret: str | None = None,
        costly: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Do what the handler below does, once for a key; ``secret`` names a field of the record that is shown once."""

        def add(handler: Handler) -> Handler:
            kind = inspect.signature(handler, eval_str=True).return_annotation

            def answer(call: WriteCall, **values: Any) -> Response:
                body = next((value for value in values.values() if isinstance(value, Body)), None)
                return call.once(kind, lambda work: handler(work, **values), body=body, status=status, secret=secret)

            described = {"methods": [method], "status_code": status, "summary": summary}
            self._add(path, handler, answer, Write, costly=costly, **described)
            return handler

        return add

    def _add(
        self,
        path: str,
        handler: Callable[..., Any],
        answer: Callable[..., Any],
        call: Any,
        *,
        costly: bool,
        **more: Any,
    ) -> None:
        """Add a route whose parameters are the handler's, with a ``call`` in place of its work."""
        if costly:

            async def respond(call: Any, **values: Any) -> Any:
                return await costly_lane.run(str(call.actor.user_id), lambda: answer(call, **values))

        else:
            respond = answer
        signature = inspect.signature(handler, eval_str=True)
        others = list(signature.parameters.values())[1:]
        first = inspect.Parameter("call", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=call)
        endpoint = wraps(handler)(respond)
        endpoint.__signature__ = signature.replace(parameters=[first, *others])  # type: ignore[attr-defined]
        self.add_api_route(path, endpoint, **{"response_model": signature.return_annotation, **more})
