"""Both sides on one machine: the tables of a folder are counted and released here, as a provider does at home.

The rows stay in the folder. What reaches the catalog is what would have been pushed, through the same routes and the
same checks: counts, and masked tables with their certificates. It happens in the name of one person and for products
that this person registered: nobody gets at a table by registering a product that is called like it.
"""

from __future__ import annotations

import logging
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import select

from aegis.catalog.client.client import packed
from aegis.catalog.client.joint_verdicts import judge_sets, sets_of
from aegis.catalog.database.tables import Configuration, Product, Release, Request, User
from aegis.catalog.service import arrivals, configurations, judged_together, ledger, summaries
from aegis.catalog.service.catalog import Catalog, Work
from aegis.catalog.service.certificates import asks_for_all
from aegis.catalog.service.checks import policy_of, roles_of
from aegis.catalog.service.configurations import counted_ids, known_hierarchies
from aegis.catalog.service.permissions import SYSTEM, Actor
from aegis.catalog.service.seen_requests import in_state
from aegis.catalog.service.sessions import actor_of_user
from aegis.catalog.states import ProductState, ReleaseState, RequestState
from aegis.data.dataset import Dataset
from aegis.data.engine import open_dataset
from aegis.errors import AegisError, ConflictError, EngineError, InputError
from aegis.library.release import release as write_release
from aegis.library.summarize import summarize
from aegis.privacy.policy import Policy
from aegis.releases.certificate import certificate_paths
from aegis.releases.ledger import ledger_path

_log = logging.getLogger("aegis.provider")
_ENDINGS = (".parquet", ".csv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provided:
    """Something that was made for a product, or why it was not (``reason``)."""

    what: str
    product: str
    request_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """What is to be made, and the state of things it is made from: the same is tried once."""

    what: str
    product: Product
    table: Path
    key: tuple[Any, ...]
    request: Request | None = None


class Provider:
    """Counts and releases the tables of ``folder`` in the name of the person who is called ``owner``."""

    def __init__(self, catalog: Catalog, folder: Path, *, owner: str) -> None:
        if not folder.is_dir():
            raise InputError(f"there is no folder {folder} with tables; name the one where they are")
        self._catalog, self._folder, self._owner = catalog, folder, owner
        self._tried: set[tuple[Any, ...]] = set()

    def run(
        self, stop: threading.Event, *, report: Callable[[Provided], None] = lambda _: None, poll_seconds: float = 2.0
    ) -> None:
        """Do what is due until ``stop`` is set."""
        while not stop.is_set():
            try:
                for done in self.due():
                    report(done)
                    if stop.is_set():
                        return
            except AegisError as error:  # the database may be restarting; it is asked again
                _log.warning("the provider waits: %s", error)
            stop.wait(poll_seconds)

    def due(self) -> Iterator[Provided]:
        """Make what is missing, one thing after the other: counts of new configurations, releases that are approved."""
        with self._catalog.read(SYSTEM) as work:
            person = work.session.scalar(select(User.id).where(User.name == self._owner, User.active))
            tasks = [] if person is None else list(self._tasks(work, person))
        for task in tasks:
            self._tried.add(task.key)
            actor = actor_of_user(self._catalog, user_id=str(person))
            yield self._done(task, actor)

    def _tasks(self, work: Work, person: str) -> Iterator[_Task]:
        owned = select(Product).where(Product.owner_id == person, Product.state != ProductState.RETIRED)
        for product in work.session.scalars(owned.order_by(Product.created_at)):
            table = self._table(product.name)
            if table is None or product.policy is None:
                continue
            source = (product.id, str(product.policy), str(product.columns), table.stat().st_mtime_ns)
            # Those that the policy keeps out are never counted: the same configurations are tried once.
            offered = frozenset(configuration.content_id for configuration in ledger.offered(work, product.id))
            tasks = []
            if offered - counted_ids(work, product.id):
                tasks.append(_Task(what="summary", product=product, table=table, key=(*source, offered)))
            unjudged = judged_together.unjudged(work, product)
            if unjudged:
                tasks.append(_Task(what="together", product=product, table=table, key=(*source, *unjudged)))
            for request in _approved(work, product):
                key = (*source, request.id, request.configuration_id)
                tasks.append(_Task(what="release", product=product, table=table, key=key, request=request))
            yield from (task for task in tasks if task.key not in self._tried)

    def _table(self, name: str) -> Path | None:
        """The file that is called like the product; names of products hold no folders."""
        return next((path for end in _ENDINGS if (path := self._folder / f"{name}{end}").is_file()), None)

    def _done(self, task: _Task, actor: Actor) -> Provided:
        request_id = None if task.request is None else task.request.id
        provided = Provided(what=task.what, product=task.product.name, request_id=request_id)
        try:
            with tempfile.TemporaryDirectory(prefix="aegis-provider-") as place:
                if task.what == "together":
                    self._judge(task, actor)
                elif task.request is None:
                    self._count(task, actor, Path(place))
                else:
                    self._release(task, task.request, actor, Path(place))
        except EngineError:  # the database is away: tried again
            self._tried.discard(task.key)
            raise
        except ConflictError as error:  # somebody else was faster, or decided otherwise
            return replace(provided, reason=str(error))
        except Exception as error:  # whatever a table does to us, the others are still to be served
            message = str(error) if isinstance(error, AegisError) else f"it broke off ({type(error).__name__})"
            reason = message.replace(str(self._folder), "").replace(str(self._folder.absolute()), "")
            self._note(task, actor, reason)
            return replace(provided, reason=reason)
        return provided

    def _count(self, task: _Task, actor: Actor, place: Path) -> None:
        with self._catalog.read(actor) as work:
            listed = configurations.list_configurations(work, product=task.product.id)
            of_product = known_hierarchies(work, task.product.id)
        masks = [
            configurations.masks_of(configuration.content)
            for configuration in listed
            if configuration.withdrawn_at is None
        ]
        summarize(
            self._opened(task),
            label=task.product.label,
            configs=masks,
            policy=self._policy(task),
            hierarchies=of_product,
            out=place / "summary",
        )
        with (
            packed(place / "summary") as pushed,
            summaries.incoming(self._catalog, actor, product=task.product.id, stream=pushed) as checked,
            self._catalog.write(actor) as work,
        ):
            summaries.receive(work, checked)

    def _judge(self, task: _Task, actor: Actor) -> None:
        """What the maskings show together with earlier releases: experts see it before they approve."""
        with self._catalog.read(actor) as work:
            listed = configurations.list_configurations(work, product=task.product.id)
            of_product = known_hierarchies(work, task.product.id)
            page = ledger.ledger(work, product=task.product.id)
        policy = self._policy(task)
        masks = {configuration.content_id: configurations.masks_of(configuration.content) for configuration in listed}
        verdicts = judge_sets(self._opened(task), policy, masks, sets_of(page, masks), hierarchies=of_product)
        if verdicts:
            with self._catalog.write(actor) as work:
                judged_together.judge_together(work, product=task.product.id, policy_id=policy.id, verdicts=verdicts)

    def _release(self, task: _Task, request: Request, actor: Actor, place: Path) -> None:
        with self._catalog.read(actor) as work:
            chosen = work.session.get_one(Configuration, request.configuration_id)
            of_product = known_hierarchies(work, task.product.id)
        names = [column["name"] for column in task.product.columns]
        whole = asks_for_all(request.columns, task.product)
        out = place / f"{task.product.name}{task.table.suffix.lower()}"
        write_release(
            self._opened(task),
            config=configurations.masks_of(chosen.content),
            policy=self._policy(task),
            out=out,
            label=task.product.label,
            columns=names if whole else [name for name in names if name in request.columns],
            hierarchies=of_product,
            ledger=ledger_path(task.table),
            recipient=request.consumer_id,
            despite_ledger=request.despite,
        )
        with (
            out.open("rb") as file,
            certificate_paths(out)[0].open("rb") as certificate,
            arrivals.incoming(
                self._catalog, actor, request_id=request.id, file=file, certificate=certificate, file_name=out.name
            ) as checked,
            self._catalog.write(actor) as work,
        ):
            arrivals.receive(work, checked)

    def _opened(self, task: _Task) -> Dataset:
        return open_dataset(task.table).with_roles(roles_of(task.product.columns, task.product.label))

    def _policy(self, task: _Task) -> Policy:
        """The policy beside the table, where there is one: then only that one is released under. Else the product's."""
        beside = self._folder / f"{task.product.name}.policy.yaml"
        if beside.is_file():
            return Policy.read(beside)
        policy = policy_of(task.product)
        assert policy is not None, "products without a policy are not looked at"
        return policy

    def _note(self, task: _Task, actor: Actor, reason: str) -> None:
        subject, key = ("product", task.product.id) if task.request is None else ("request", task.request.id)
        with self._catalog.write(actor) as work:
            work.record(
                "maskings not judged" if task.what == "together" else f"{task.what} not made",
                (subject, key),
                product_id=task.product.id,
                reason=reason[:500],
            )


def _approved(work: Work, product: Product) -> list[Request]:
    """The requests that wait for a release, and for which none is being measured."""
    measured = select(Release.request_id).where(Release.state == ReleaseState.RECEIVED, Release.request_id.is_not(None))
    query = select(Request).where(
        Request.product_id == product.id, in_state(RequestState.APPROVED, work.now), Request.id.not_in(measured)
    )
    return list(work.session.scalars(query.order_by(Request.created_at)))
