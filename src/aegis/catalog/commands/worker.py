"""``aegis worker``: does the catalog's jobs, one after the other."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from typing import Annotated

import typer

from aegis.catalog.commands import catalog_options
from aegis.commands import options, terminal
from aegis.masking.plural import count


def worker(
    database: catalog_options.Database = catalog_options.DEFAULT_DATABASE,
    storage: catalog_options.Storage = catalog_options.DEFAULT_STORAGE,
    once: Annotated[bool, typer.Option("--once", help="Do the jobs that wait now, then stop.")] = False,
    settings: catalog_options.SettingsFile = None,
    json: options.Json = False,
) -> None:
    """Do background jobs: rank configurations, measure releases again. `aegis serve` starts one by itself.

    A worker that is stopped puts its job back; the job of one that is killed is taken over by another.
    """
    from aegis.catalog.server.supervisor import hold_lifeline

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(name)s %(message)s")
    stop = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: stop.set())
    supervised = hold_lifeline()
    with catalog_options.open_catalog(database, storage, settings=settings) as catalog:
        from aegis.catalog.worker.loop import run_pending, run_worker

        done = run_pending(catalog) if once else run_worker(catalog, stop)
    if json:
        terminal.print_json({"jobs_done": done})
    elif not supervised:
        terminal.aside(f"{count(done, 'job')} done")
