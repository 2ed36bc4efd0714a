"""``aegis worker`` does the catalog's jobs, one after the other. ``aegis provide`` is the provider's side on the
catalog's machine, for one organisation that runs both.
"""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from aegis.catalog.commands.catalog_options import OwnCatalog, SettingsFile, catalog_command, open_catalog
from aegis.catalog.settings import LOG_VARIABLE, TEXT
from aegis.commands import terminal
from aegis.commands.fields import PathLike
from aegis.operation import Argument, Option, operation
from aegis.plural import count
from aegis.result import UNWRITTEN, Result

if TYPE_CHECKING:
    from aegis.catalog.worker.provider import Provided


@dataclass(frozen=True, kw_only=True)
class Worker(OwnCatalog):
    """Do background jobs: rank configurations, measure releases, send mails. `aegis serve` starts one by itself.

    A worker that is stopped puts its job back; the job of one that is killed is taken over by another.
    """

    once: Annotated[bool, Option("Do the jobs that wait now, then stop.")] = False
    settings: SettingsFile = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDone(Result):
    """How many jobs a worker did until it stopped; ``supervised`` stands in no JSON."""

    jobs_done: int
    supervised: bool = field(default=False, metadata=UNWRITTEN)

    @property
    def headline(self) -> str:
        """How many jobs."""
        return f"{count(self.jobs_done, 'job')} done"


@operation(Worker)
def worker(options: Worker) -> WorkDone:
    """Do the jobs of the catalog, until SIGTERM or Ctrl-C unless ``once`` is asked for."""
    process = BackgroundProcess.started()
    with open_catalog(options, settings=options.settings) as catalog:
        from aegis.catalog.worker.deliveries import deliver_due, delivering  # an extra
        from aegis.catalog.worker.job_process import JobProcess
        from aegis.catalog.worker.loop import new_name, run_pending, run_worker

        name = new_name()

        with JobProcess(database_url=options.database, storage=options.storage, settings=catalog.settings) as runner:
            if options.once:
                done = run_pending(catalog, runner=runner, name=name)
                deliver_due(catalog, worker=name)
            else:
                with delivering(catalog, worker=name):
                    done = run_worker(catalog, process.stop, runner=runner, name=name)
    return WorkDone(jobs_done=done, supervised=process.supervised)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundProcess:
    """A process that works until ``stop`` is set: by SIGTERM, by Ctrl-C, or because its supervisor is gone."""

    stop: threading.Event
    supervised: bool

    @classmethod
    def started(cls) -> Self:
        """This process, with its signals and its log as they are meant."""
        from aegis.catalog.server.supervisor import StopSignal, configure_logs, hold_lifeline

        configure_logs(os.environ.get(LOG_VARIABLE, TEXT))
        stop = StopSignal()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        return cls(stop=stop, supervised=hold_lifeline())


@catalog_command("worker", Worker, run="aegis.catalog.commands.worker:worker")
def worker_command(done: WorkDone, options: Worker) -> None:
    """How many jobs were done."""
    if not done.supervised:
        terminal.aside(done.headline)


@dataclass(frozen=True)
class Provide(OwnCatalog):
    """Count and release the tables of a folder on the catalog's own machine; `aegis serve --data` starts it.

    New configurations are counted, approved requests get their release, both through the checks that a push passes.
    The rows stay in the folder. What was not made is said here, and with the reason on the page of the request.
    """

    folder: Annotated[PathLike, Argument("The tables: NAME.csv or NAME.parquet for the product NAME.")]
    _: KW_ONLY
    owner: Annotated[str, Option("Whose products: the name that this person signs in with.")]
    once: Annotated[bool, Option("Do what is due now, then stop.")] = False
    settings: SettingsFile = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvidedPart:
    """A summary or a release that was made for a product, or why it was not (``reason``)."""

    what: str
    product: str
    request: str | None
    reason: str | None

    @property
    def headline(self) -> str:
        """What was made, or why not."""
        made = f"{self.product}: {self.what}" + ("" if self.request is None else f" for the request {self.request}")
        return made if self.reason is None else f"{made} was not made: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvidedParts(Result):
    """All that was due."""

    provided: tuple[ProvidedPart, ...]

    @property
    def exit_status(self) -> int:
        """1 if something was not made."""
        return 1 if any(part.reason is not None for part in self.provided) else 0

    @property
    def headline(self) -> str:
        """How much was due, and how much of it was made."""
        made = sum(part.reason is None for part in self.provided)
        return f"{made} made of {count(len(self.provided), 'part')} that were due"

    def table_rows(self) -> list[dict[str, Any]]:
        """One row for each."""
        return list(self.to_json()["provided"])


@operation(Provide)
def provide(options: Provide) -> ProvidedParts:
    """Make what is due for the products of ``owner``; unless ``once`` is asked for, until SIGTERM or Ctrl-C."""
    process = BackgroundProcess.started()
    with open_catalog(options, settings=options.settings) as catalog:
        from aegis.catalog.worker.provider import Provider  # an extra

        provider = Provider(catalog, Path(options.folder), owner=options.owner)
        if options.once:
            return ProvidedParts(provided=tuple(_part(made) for made in provider.due()))
        provider.run(process.stop, report=lambda made: _say(_part(made)))
    return ProvidedParts(provided=())


def _part(made: Provided) -> ProvidedPart:
    return ProvidedPart(what=made.what, product=made.product, request=made.request_id, reason=made.reason)


def _say(part: ProvidedPart) -> None:
    (terminal.aside if part.reason is None else terminal.warn)(part.headline)


@catalog_command("provide", Provide, run="aegis.catalog.commands.worker:provide")
def provide_command(done: ProvidedParts, options: Provide) -> None:
    """What was made, and what was not."""
    for part in done.provided:
        _say(part)
