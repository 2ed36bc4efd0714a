"""How an address of the API becomes a function of the service: a unit of work of the one who calls, and the key that
makes a write happen once.

The path, the words for the description and the function are declared; what comes from the path, the page of a long list
and the fields of the body are its parameters by their names, and what it gives is what is sent::

    of_jobs = ApiRouter(tags=["jobs"])
    of_jobs.writes("/jobs/{job_id}/cancel", "Cancel a job", jobs.cancel)
"""

from __future__ import annotations

import datetime
import hashlib
import inspect
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from types import MappingProxyType, NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin

from fastapi import APIRouter, Depends, Header, Request
from fastapi.params import Depends as DependsMark
from fastapi.routing import APIRoute
from sqlalchemy import delete
from starlette.responses import JSONResponse, Response

from aegis.catalog import records
from aegis.catalog.database.tables import Idempotency
from aegis.catalog.server.api.bodies import Body, Cursor, IdPath, PageSize, ProductPath
from aegis.catalog.server.limits import costly_lane
from aegis.catalog.server.session import public_origin
from aegis.catalog.service.catalog import Catalog, Work, again_if_undone
from aegis.catalog.service.paging import DEFAULT_SIZE, PageRequest
from aegis.catalog.service.permissions import Actor, Permission, require
from aegis.errors import ConflictError, InputError
from aegis.releases.hashed_json import RepeatedKeyError, without_repeated_keys

IDEMPOTENCY_KEY = "Idempotency-Key"
T = TypeVar("T")


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
        shown_once: str | None = None,
    ) -> Response:
        """Do it and answer with the record that came out; the same key and content get the same answer again.

        The answer is remembered in the transaction of the act itself, so there is never one without the other.
        The field of the record that is ``shown_once`` is not remembered.
        """
        return again_if_undone(
            lambda: self._once(kind, act, body=body, status=status, shown_once=shown_once),
            is_keyed=self.key is not None,
        )

    def _once(
        self, kind: type[T], act: Callable[[Work], T], *, body: Any, status: int, shown_once: str | None
    ) -> Response:
        if self.key is None:
            with self.catalog.write(self.actor) as work:
                return JSONResponse(records.write(kind, act(work)), status_code=status)
        fingerprint = self._fingerprint(body)
        try:
            with self.catalog.write(self.actor) as work:
                remembered = recall(work, key=self.key, fingerprint=fingerprint)
                if remembered is not None:
                    return remembered
                content = records.write(kind, act(work))
                to_remember = content if shown_once is None else {**content, shown_once: ""}
                remember(work, key=self.key, fingerprint=fingerprint, status=status, body=to_remember)
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
            return recall(work, key=self.key, fingerprint=self._fingerprint(body))

    def _fingerprint(self, body: Any) -> str:
        plain = body.model_dump(mode="json") if isinstance(body, Body) else body
        text = json.dumps([self.place, plain], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def recall(work: Work, *, key: str, fingerprint: str) -> Response | None:
    """The answer that this key got before; `InputError` if the key came with another content (fingerprint)."""
    require(work.actor, Permission.SEE_CATALOG)
    row = work.session.get(Idempotency, (work.actor.user_id, key))
    if row is None or row.created_at < _forgotten_at(work):
        return None
    if row.fingerprint != fingerprint:
        raise InputError("this idempotency key was used for something else; take a fresh one")
    return JSONResponse(row.body or {}, status_code=row.status, headers={"Idempotency-Replayed": "true"})


def remember(work: Work, *, key: str, fingerprint: str, status: int, body: Mapping[str, Any]) -> None:
    """Remember the answer, in the same transaction as the write itself."""
    work.session.execute(delete(Idempotency).where(Idempotency.created_at < _forgotten_at(work)))
    made = Idempotency(user_id=work.user_id, key=key, fingerprint=fingerprint, status=status, body=dict(body))
    made.created_at = work.now
    work.add(made)


def _forgotten_at(work: Work) -> datetime.datetime:
    return work.now - datetime.timedelta(hours=work.settings.idempotency_hours)


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

    ``act`` takes a `Work` and then, by name, what the address names. Of its other parameters those are offered that are
    given a type for FastAPI by their name in ``takes``; ``body`` is the class whose fields it takes. What is ``costly``
    waits in a lane of its own; ``described`` are further keywords of FastAPI.
    """

    def __init__(self, **described: Any) -> None:
        super().__init__(route_class=_JsonRoute, **described)

    def reads(self, path: str, summary: str, act: Callable[..., Any], *, method: str = "GET", **declared: Any) -> None:
        """Answer with what ``act`` finds; tried again where the database broke off."""

        def answer(call: ReadCall, body: Body | None, values: Mapping[str, Any]) -> Any:
            def look() -> Any:
                with call.catalog.read(call.actor) as work:
                    return _complete(act(work, **values))

            return again_if_undone(look)

        self._add(path, summary, act, answer, Read, methods=[method], **declared)

    def writes(
        self,
        path: str,
        summary: str,
        act: Callable[..., Any],
        *,
        method: str = "POST",
        status: int = 200,
        shown_once: str | None = None,
        sends: Any = None,
        **declared: Any,
    ) -> None:
        """Do it, once for a key; ``shown_once`` names a field of the record that no repetition shows again.

        What is sent is the record that ``act`` gives, or as much of it as another kind of record ``sends``.
        """
        kind = sends or _kind_of(act)

        def answer(call: WriteCall, body: Body | None, values: Mapping[str, Any]) -> Response:
            def do(work: Work) -> Any:
                return _complete(act(work, **values))

            return call.once(kind, do, body=body, status=status, shown_once=shown_once)

        described = {"methods": [method], "status_code": status, "response_model": kind}
        self._add(path, summary, act, answer, Write, **described, **declared)

    def _add(
        self,
        path: str,
        summary: str,
        act: Callable[..., Any],
        answer: Callable[[Any, Body | None, Mapping[str, Any]], Any],
        call: Any,
        *,
        body: Any = None,
        takes: Mapping[str, Any] = MappingProxyType({}),
        costly: bool = False,
        **described: Any,
    ) -> None:
        """Add a route whose parameters are those of ``act``, with a call in place of its work."""
        body_class = next((kind for kind in get_args(body) or (body,) if kind is not NoneType), None)

        def handle(call: Any, values: dict[str, Any]) -> Any:
            sent = values.pop("body", None) or (body_class and body_class())
            return answer(call, sent, {**(sent.keywords() if sent else {}), **values})  # the path has the last word

        def respond(call: Any, **values: Any) -> Any:
            return handle(call, values)

        async def respond_costly(call: Any, **values: Any) -> Any:
            return await costly_lane.run(str(call.actor.user_id), lambda: handle(call, values))

        endpoint = wraps(act)(respond_costly if costly else respond)
        endpoint.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [_parameter("call", call), *_parameters(self.prefix + path, act, takes), *_body_parameter(body)]
        )
        description = inspect.cleandoc(act.__doc__ or "").partition("\n\n")[0].replace("``", "`")
        declared = {"response_model": _kind_of(act), "description": description, **described}
        self.add_api_route(path, endpoint, summary=summary, **declared)


def _parameter(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _body_parameter(body: Any) -> list[inspect.Parameter]:
    """One that may be left out where every field of it may."""
    if body is None:
        return []
    return [_parameter("body", body, None if NoneType in get_args(body) else inspect.Parameter.empty)]


def _parameters(path: str, act: Callable[..., Any], takes: Mapping[str, Any]) -> Iterator[inspect.Parameter]:
    """Those of a function that an address offers: in its path, in its query, and which page of a long list."""
    for name, parameter in inspect.signature(act, eval_str=True).parameters.items():
        if f"{{{name}}}" in path:
            yield _parameter(name, ProductPath if name == "product" else IdPath)
        elif parameter.annotation is PageRequest:
            yield _parameter(name, Paged)
        elif name in takes:
            depends = any(isinstance(mark, DependsMark) for mark in get_args(takes[name]))
            yield _parameter(name, takes[name], inspect.Parameter.empty if depends else parameter.default)


def _kind_of(act: Callable[..., Any]) -> Any:
    """What is sent: what the function gives, of a list all its items."""
    kind = inspect.signature(act, eval_str=True).return_annotation
    return records.Items[get_args(kind)[0]] if get_origin(kind) in (list, tuple) else kind  # type: ignore[misc]


def _complete(result: Any) -> Any:
    return records.Items(items=tuple(result)) if isinstance(result, list | tuple) else result
