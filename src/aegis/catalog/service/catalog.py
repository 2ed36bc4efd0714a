"""The composition root: a database, a store and settings; one unit of work, a transaction; and what it finds.

What somebody must not know of is not found.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import ColumnElement, Connection, func, select
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from aegis.catalog.database import audit_chain
from aegis.catalog.database.audit_chain import ACTS
from aegis.catalog.database.connection import DEFAULT_POOL, Database
from aegis.catalog.database.storage import Draft, Store, Stored, open_store
from aegis.catalog.database.tables import (
    Audit,
    Configuration,
    Job,
    Product,
    ProviderKey,
    Release,
    Request,
    Summary,
    Table,
    Token,
    User,
    is_id,
)
from aegis.catalog.service.checks import printable
from aegis.catalog.service.openid_provider import OpenIdProvider
from aegis.catalog.service.permissions import Actor, Permission, may, require
from aegis.catalog.settings import Settings
from aegis.catalog.states import KEPT_RELEASES, ProductState
from aegis.errors import AegisError, BrokenOffError, ConflictError, EngineError, NotFoundError, StorageFullError

_log = logging.getLogger("aegis.catalog")
Clock = Callable[[], datetime.datetime]
RowType = TypeVar("RowType", bound=Table)
T = TypeVar("T")


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


_SUBJECTS: Mapping[type[Table], str] = {
    Configuration: "configuration",
    Job: "job",
    Product: "product",
    ProviderKey: "key",
    Release: "release",
    Request: "request",
    Summary: "summary",
    Token: "token",
    User: "user",
}
"""What the record calls the thing that an act is about."""


class Work:
    """One transaction on behalf of one actor; everything in it happens together or not at all."""

    def __init__(
        self, *, session: Session, store: Store, actor: Actor, now: datetime.datetime, settings: Settings
    ) -> None:
        self.session = session
        self.store = store
        self.actor = actor
        self.now = now
        self.settings = settings
        self.seen_products: dict[str, Any] = {}
        """Products that were found in this transaction, by name and id: one page asks for the same one many times."""
        self._entries: list[Audit] = []
        self._held = ExitStack()
        self._ending = False

    @property
    def user_id(self) -> str:
        """The id of the person who acts, where only a person does."""
        assert self.actor.user_id is not None
        return self.actor.user_id

    def add(self, row: RowType) -> RowType:
        """Write a new row, with its id."""
        self.session.add(row)
        self.session.flush()
        return row

    def record(
        self, action: str, about: Table | tuple[str, str], /, *, product_id: str | None = None, **details: Any
    ) -> None:
        """Put an act on the record, ``about`` a row or a kind of thing and its id; written when the transaction ends.

        It belongs to the product that the row belongs to, unless another one is named.
        """
        assert action in ACTS, f"the record does not know the act {action!r}: name it in ACTS_OF"
        row: Any = about
        subject, subject_id = about if isinstance(about, tuple) else (_SUBJECTS[type(about)], row.id)
        of_row = row.id if isinstance(about, Product) else getattr(about, "product_id", None)
        self._entries.append(
            Audit(
                at=self.now,
                actor=self.actor.name,
                actor_id=self.actor.user_id,
                action=action,
                subject=subject,
                subject_id=subject_id,
                product_id=product_id or of_row,
                details=details,
            )
        )

    def keep(self, draft: Draft) -> Stored:
        """Give a draft its place in the store; the row that names it belongs into the same transaction."""
        self._held.enter_context(self.store.referring())
        return self.store.keep(draft)


class Catalog:
    """An open catalog. `read` and `write` give the work that every function of the service takes first."""

    def __init__(
        self, *, database: Database, store: Store, settings: Settings | None = None, clock: Clock = utc_now
    ) -> None:
        self.database = database
        self.store = store
        self.settings = settings or Settings()
        self.clock = clock
        self.identity_provider = OpenIdProvider(self.settings) if self.settings.oidc_issuer else None
        """Where people sign in by OpenID Connect; None where the settings name nothing."""

    @classmethod
    def open(
        cls,
        database_url: str,
        storage: str | Path,
        *,
        settings: Settings | None = None,
        clock: Clock = utc_now,
        pool_size: int = DEFAULT_POOL,
    ) -> Self:
        """Open the catalog, and make it first where there is none; ``storage`` is a folder or an s3:// address."""
        settings = settings or Settings()
        store = open_store(storage, database_url=database_url, reserve_bytes=settings.free_bytes)
        database = Database.open(database_url, pool_size=pool_size, wait_seconds=settings.database_wait_seconds)
        return cls(database=database, store=store, settings=settings, clock=clock)

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def read(self, actor: Actor) -> Iterator[Work]:
        """Work that only reads."""
        with _reading(), self.database.read() as session:
            yield self._work(session, actor)

    @contextmanager
    def look(self) -> Iterator[Connection]:
        """A bare connection that only reads, without an actor: to find out who that is."""
        with _reading(), self.database.look() as connection:
            yield connection

    @contextmanager
    def write(self, actor: Actor) -> Iterator[Work]:
        """Work that is committed, with its audit, when the block ends well, and undone otherwise."""
        work: Work | None = None
        try:
            with self.database.write() as session:
                work = self._work(session, actor)
                yield work
                session.flush()
                audit_chain.append(session, work._entries)
                work._ending = True
                session.commit()
        except NoConnectionError:
            raise EngineError(_BUSY) from None
        except StaleDataError:
            raise ConflictError("somebody else changed it at the same moment; look at it again") from None
        except IntegrityError as error:
            _log.info("a write was refused by the database (%s)", type(error.orig).__name__)
            raise ConflictError("something of the same name or content is there already; look again") from None
        except DBAPIError as error:
            raise _refused(error, undone=work is None or not work._ending) from None
        finally:
            if work is not None:
                work._held.close()

    def _work(self, session: Session, actor: Actor) -> Work:
        return Work(session=session, store=self.store, actor=actor, now=self.clock(), settings=self.settings)


@contextmanager
def _reading() -> Iterator[None]:
    """Errors of the database as those of the catalog."""
    try:
        yield
    except NoConnectionError:
        raise EngineError(_BUSY) from None
    except DBAPIError as error:
        raise _refused(error) from None


_BUSY = "too many people ask the catalog at once; try again in a moment"
_ENDED = ("08", "57P")  # the connection is gone, the server was stopped or started again
_ATTEMPTS, _PAUSE_S = 3, 0.3
_RETRY = {"40001", "40P01", "55P03"}  # serialization failure, deadlock, lock not available


def _refused(error: DBAPIError, *, undone: bool = True) -> AegisError:
    """An error of the database as one of the catalog: its own text would quote values."""
    code = getattr(error.orig, "sqlstate", None)
    name = getattr(error.orig, "sqlite_errorname", "")
    if code == "53100" or name.startswith(("SQLITE_FULL", "SQLITE_IOERR_WRITE")):
        return StorageFullError("the disk of the catalog's database is full; an administrator has to make room")
    if code == "25006" or name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return StorageFullError("the catalog's database may not be written; an administrator has to look at it")
    if code in _RETRY:
        return ConflictError("two people changed the same thing at the same moment; try again")
    if error.connection_invalidated or (code or "").startswith(_ENDED):
        _log.warning("the database ended a connection (%s %s)", type(error.orig).__name__, code or "")
        if undone:
            return BrokenOffError("the database of the catalog broke off; try again in a moment", undone=True)
        return BrokenOffError(
            "the database of the catalog broke off at the last moment; look whether it was done, then try again",
            undone=False,
        )
    _log.error("the database refused a statement (%s %s)", type(error.orig).__name__, code or "")
    return EngineError("the database of the catalog refused or broke off; try again in a moment")


def again_if_undone(
    act: Callable[[], T], *, is_keyed: bool = False, attempts: int = _ATTEMPTS, pause_s: float = _PAUSE_S
) -> T:
    """Do it, and again where the database broke off and nothing was written: it may just have been started again.

    With ``is_keyed`` the act finds by itself whether it was done before, and is repeated in any case.
    """
    for attempt in range(1, attempts + 1):
        try:
            return act()
        except BrokenOffError as error:
            if attempt == attempts or not (error.undone or is_keyed):
                raise
        time.sleep(pause_s * attempt)
    raise AssertionError("the last attempt returns or raises")


# Finding things as somebody, and how much a product and a person may keep

_NO_PRODUCT = "there is no such product; look at the list of products"


def visible_product(work: Work, key: str, needed: Permission | None = None, *, lock: bool = False) -> Product:
    """The product with this name or id, if the actor may know of it; raises unless they may do what is ``needed``."""
    require(work.actor, Permission.SEE_CATALOG)
    row = None if lock else work.seen_products.get(key)
    if row is None and printable(key):
        query = select(Product).where(Product.id == key if is_id(key) else Product.name == key)
        if lock:
            query = query.with_for_update(key_share=True).execution_options(populate_existing=True)
        row = work.session.scalar(query)
    product = checked_visible(work, row)
    if needed is not None:
        require(work.actor, needed, product.id)
    return product


def checked_visible(work: Work, product: Product | None) -> Product:
    """The product that was found; `NotFoundError` where there is none, or none that the actor may know of."""
    if product is None or not sees_product(work, product):
        raise NotFoundError(_NO_PRODUCT)
    work.seen_products[product.id] = work.seen_products[product.name] = product
    return product


def sees_product(work: Work, product: Product) -> bool:
    """Drafts are for those who work on them, retired products also for those who once asked for them.

    A token of one product sees that one only.
    """
    actor = work.actor
    if actor.token_product not in (None, product.id):
        return False
    if product.state == ProductState.PUBLISHED or may(actor, Permission.SEE_DRAFT, product.id):
        return True
    if product.state == ProductState.DRAFT:
        return False
    query = select(Request.id).where(Request.consumer_id == actor.user_id, Request.product_id == product.id)
    return work.session.scalar(query.limit(1)) is not None


def of_current_summary(work: Work, product_id: str, what: Any) -> Any:
    """The product's current summary, or a column of it; None where it has none."""
    return work.session.scalar(select(what).where(Summary.product_id == product_id, Summary.current))


def by_id(work: Work, table: type[RowType], key: Any, *, lock: bool = False) -> RowType | None:
    """The row with this id, locked until the transaction ends if asked; None where the text is no id at all.

    Rows that refer to a locked one may still be added: their writers do not change it, and if they waited for its
    writer, who may add such rows as well, both could wait for each other.
    """
    if not is_id(key):
        return None
    return work.session.get(table, key, with_for_update={"key_share": True} if lock else None, populate_existing=lock)


def locked(work: Work, table: type[RowType], key: str) -> RowType:
    """The row with this id, which something refers to, locked as by `by_id`."""
    row = by_id(work, table, key, lock=True)
    assert row is not None
    return row


def room_left(work: Work, product_id: str, *, limit_bytes: int) -> int:
    """How many bytes may be pushed now for this product by this person, at most ``limit_bytes``."""
    of_product = _used(work, Summary.product_id == product_id, Release.product_id == product_id)
    person = work.actor.user_id
    of_person = _used(work, Summary.pushed_by == person, Release.pushed_by == person)
    left = min(
        limit_bytes,
        work.settings.stored_bytes_per_product - of_product,
        work.settings.stored_bytes_per_person - of_person,
    )
    if left <= 0:
        raise ConflictError(
            "the quota of this product, or yours, is used up; withdraw releases that nobody needs any more, or let an "
            "administrator raise it"
        )
    return left


def _used(work: Work, summaries: ColumnElement[bool], releases: ColumnElement[bool]) -> int:
    counted = select(func.coalesce(func.sum(Summary.bytes), 0)).where(summaries)
    released = select(func.coalesce(func.sum(Release.bytes), 0)).where(releases, Release.state.in_(KEPT_RELEASES))
    return int(work.session.scalar(select(counted.scalar_subquery() + released.scalar_subquery())) or 0)
