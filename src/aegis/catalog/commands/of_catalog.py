"""The commands of the catalog, one after the other: read when all commands are listed, or one of them is named."""

from __future__ import annotations

from aegis.catalog.commands import pull, push, serve, upkeep, worker

CATALOG = (
    serve.serve_command,
    serve.demo_command,
    push.product_command,
    push.configurations_command,
    push.summary_command,
    push.together_command,
    push.release_command,
    pull.pull_command,
    worker.worker_command,
    worker.provide_command,
    upkeep.audit_command,
    upkeep.backup_command,
    upkeep.restore_command,
)
"""The commands of the catalog, which the library does not know; other packages join by entry points instead."""
