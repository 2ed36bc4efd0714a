"""Backup and restore, for the operator at the machine itself."""

from __future__ import annotations

from pathlib import Path

from aegis.catalog.database import backup as archive_file
from aegis.catalog.database.backup import Manifest
from aegis.catalog.service.catalog import Catalog


def backup(catalog: Catalog, out: str | Path, *, overwrite: bool = False) -> Manifest:
    """Write everything into one archive; gives its manifest (rows per table, files, audit head)."""
    return archive_file.backup(catalog.database, catalog.store, out, overwrite=overwrite)


def restore(archive: str | Path, *, database_url: str, storage: str | Path) -> Manifest:
    """Fill an empty catalog from an archive, and check the chain; anything else is left alone."""
    return archive_file.restore(archive, database_url=database_url, storage=storage)
