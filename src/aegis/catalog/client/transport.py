"""How the client speaks: HTTP with a token, writes that may be repeated safely, and errors of the same classes."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aegis._version import __version__
from aegis.catalog.settings import LOOPBACK
from aegis.errors import AegisError, EngineError, InputError, MissingExtraError, ServiceError, TooManyAttemptsError

if TYPE_CHECKING:
    import httpx

_PREFIX = "urn:aegis:problem:"
_PASSING = frozenset({502, 503, 504})

Body = Callable[[], dict[str, Any]]
"""Makes the keywords of a request's body, anew for each attempt: a file is read from its start again."""


class Transport:
    """One catalog and one token."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout_s: float = 30.0,
        attempts: int = 4,
        allow_plain_http: bool = False,
        connection: httpx.BaseTransport | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InputError("the address of a catalog begins with https://, or http:// on this machine")
        if parts.scheme == "http" and parts.hostname not in LOOPBACK and not allow_plain_http:
            raise InputError(f"a token would travel in the clear to {parts.hostname}; use https://")
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise InputError("there is no usable token; create one in the catalog and set AEGIS_TOKEN")
        if attempts < 1:
            raise InputError("attempts must be at least 1")
        http = _httpx()
        self.url = url.rstrip("/")
        self._attempts = attempts
        self._http = http.Client(
            base_url=f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/api/v1",
            headers={"Authorization": f"Bearer {token}", "User-Agent": f"aegis/{__version__}"},
            timeout=timeout_s,
            transport=connection,
        )

    def close(self) -> None:
        self._http.close()

    def _get(self, path: str, **query: Any) -> Any:
        """Read one thing."""
        return self._json("GET", path, query=query)

    def _pages(self, path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Every item of a list, page by page as they are needed."""
        cursor: str | None = None
        while True:
            page = self._get(path, **query, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def _post(self, path: str, content: Any = None, *, body: Body | None = None) -> Any:
        """Write; sent again with the same key if no answer came, so that it happens once."""
        if body is None:
            body = dict if content is None else lambda: {"json": content}
        return self._json("POST", path, body=body, headers={"Idempotency-Key": str(uuid.uuid4())})

    def _patch(self, path: str, content: Any) -> Any:
        """Change; the version in the content makes a repetition harmless."""
        return self._json("PATCH", path, body=lambda: {"json": content})

    @contextmanager
    def _download(self, path: str) -> Iterator[httpx.Response]:
        """A streamed answer."""
        http = _httpx()
        try:
            with self._http.stream("GET", path) as response:
                if response.status_code >= 400:
                    response.read()
                    raise error_of(response)
                yield response
        except http.HTTPError as error:
            raise _unreachable(error) from None

    def _json(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Body = dict,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        http = _httpx()
        params = {name: value for name, value in (query or {}).items() if value is not None}
        for attempt in range(1, self._attempts + 1):
            keywords = body()
            all_headers = {**(headers or {}), **keywords.pop("headers", {})}
            try:
                response = self._http.request(method, path, params=params or None, headers=all_headers, **keywords)
            except http.HTTPError as error:
                if attempt == self._attempts:
                    raise _unreachable(error) from None
            else:
                if response.status_code < 400:
                    return response.json() if response.content else None
                if response.status_code not in _PASSING or attempt == self._attempts:
                    raise error_of(response)
            time.sleep(min(3.0, 0.2 * 2**attempt) * random.uniform(0.5, 1.5))  # noqa: S311 - spreads the load only
        raise AssertionError("the loop above returns or raises")


def error_of(response: httpx.Response) -> AegisError:
    """The error that the catalog raised, raised here."""
    try:
        problem = response.json()
        kind, detail = str(problem["type"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        kind, detail = "", f"the server answered {response.status_code} without a reason; is this a catalog of Aegis?"
    error_class = _classes().get(kind.removeprefix(_PREFIX))
    if error_class is TooManyAttemptsError:
        wait = response.headers.get("Retry-After", "")
        return TooManyAttemptsError(detail, retry_after_seconds=int(wait) if wait.isdigit() else 60)
    if error_class is None or error_class is MissingExtraError:
        return (EngineError if response.status_code >= 500 else ServiceError)(detail)
    return error_class(detail)


def _classes() -> dict[str, type[AegisError]]:
    classes: dict[str, type[AegisError]] = {}
    waiting = list(AegisError.__subclasses__())
    while waiting:
        error = waiting.pop()
        waiting += error.__subclasses__()
        name = error.__name__.removesuffix("Error")
        classes["".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")] = error
    return classes


def _unreachable(error: Exception) -> EngineError:
    return EngineError(f"the catalog did not answer ({type(error).__name__}); check its address and that it runs")


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise MissingExtraError(feature="speaking to a catalog", extra="client") from None
    return httpx
