"""``aegis worker``: does the catalog's jobs, one after the other."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass, field
from typing import Annotated, Self

from aegis.catalog.commands.catalog_options import OwnCatalog, SettingsFile, catalog_command, open_catalog
from aegis.catalog.logs import LOG_VARIABLE, TEXT, configure_logs
from aegis.catalog.stop_signal import StopSignal
from aegis.commands import terminal
from aegis.operation import Option, operation
from aegis.plural import count
from aegis.result import UNWRITTEN, Result


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
        from aegis.catalog.server.supervisor import hold_lifeline

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
