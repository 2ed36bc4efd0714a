"""What Prometheus scrapes at ``/metrics``: how requests are answered, and what waits in the catalog.

Times and statuses are counted by every server process and added up here; what waits is asked of the database, so that
every server says the same. Labels are routes, states and kinds, never an address, a name or a person.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Histogram, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy import func, select
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from aegis.catalog.database.audit_chain import HEAD_ID
from aegis.catalog.database.tables import ChainHead, Delivery, Job, Product, Release, Request
from aegis.catalog.service.catalog import Catalog
from aegis.catalog.service.permissions import SYSTEM
from aegis.catalog.states import JobState
from aegis.errors import AegisError, NotSignedInError

PATH = "/metrics"
TOKEN_VARIABLE = "AEGIS_METRICS_TOKEN"  # noqa: S105 - the name of a variable
SHARED_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The folder where the processes of one `aegis serve` write their counts; the library itself reads it."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.3, 1.0, 3.0, 10.0, 60.0)

answered = Histogram(
    "aegis_request_seconds",
    "How long requests took, by route and status.",
    ["method", "route", "status"],
    buckets=_SECONDS,
    registry=None,
)


def count_request(*, method: str, route: str, status: int, seconds: float) -> None:
    """Note one answer."""
    method_label = method if method in _METHODS else "other"
    answered.labels(method=method_label, route=route, status=str(status)).observe(seconds)


class _Waiting(Collector):
    """What the database and the store say at the moment of a scrape."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def collect(self) -> Iterable[GaugeMetricFamily]:
        with self._catalog.read(SYSTEM) as work:
            for name, words, column in (
                ("aegis_products", "Data products by state.", Product.state),
                ("aegis_requests", "Requests for access by state.", Request.state),
                ("aegis_releases", "Releases by state.", Release.state),
                ("aegis_jobs", "Jobs by state.", Job.state),
                ("aegis_deliveries", "Mails and webhooks by state.", Delivery.state),
            ):
                family = GaugeMetricFamily(name, words, labels=["state"])
                for state, number in work.session.execute(select(column, func.count()).group_by(column)):
                    family.add_metric([state.lower()], number)
                yield family
            oldest = work.session.scalar(select(func.min(Job.created_at)).where(Job.state == JobState.QUEUED))
            waits_s = 0.0 if oldest is None else max((work.now - oldest).total_seconds(), 0.0)
            rows = work.session.scalar(select(ChainHead.sequence).where(ChainHead.id == HEAD_ID)) or 0
        yield GaugeMetricFamily("aegis_oldest_job_seconds", "How long the oldest waiting job waits.", value=waits_s)
        yield GaugeMetricFamily("aegis_audit_rows", "Acts on the record.", value=rows)


def exposition(catalog: Catalog) -> bytes:
    """Everything in the text format of Prometheus."""
    registry = CollectorRegistry()
    if os.environ.get(SHARED_VARIABLE):
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # the library leaves it so
    else:
        registry.register(answered)
    registry.register(_Waiting(catalog))
    return generate_latest(registry)


class Metrics:
    """An app with metrics at ``/metrics``, for whoever sends the token; without a token set there is no such page."""

    def __init__(self, app: ASGIApp, *, catalog: Catalog, token: str) -> None:
        self._app = app
        self._catalog = catalog
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH or not self._token:
            await self._app(scope, receive, send)
            return
        await (await self._respond(scope))(scope, receive, send)

    async def _respond(self, scope: Scope) -> Response:
        scheme, _, token = Headers(scope=scope).get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self._token.encode()):
            refused = NotSignedInError("metrics need their token in the Authorization header")
            return PlainTextResponse(
                str(refused), status_code=refused.http_status, headers={"WWW-Authenticate": "Bearer"}
            )
        try:
            content = await run_in_threadpool(exposition, self._catalog)
        except AegisError as error:
            return PlainTextResponse(str(error), status_code=error.http_status)
        return Response(content, media_type="text/plain; version=0.0.4; charset=utf-8")
