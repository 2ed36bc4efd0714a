"""Backup and restore, for administrators and for the operator at the machine itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aegis.service.catalog import Catalog


def backup(catalog: Catalog, out: str | Path, *, overwrite: bool = False) -> Any:
    """Write everything into one archive; gives its manifest (rows per table, blobs, audit head)."""
    raise NotImplementedError


def restore(archive: str | Path, *, database_url: str, storage: str | Path) -> Any:
    """Fill an empty catalog from an archive, and check the chain; anything else is left alone."""
    raise NotImplementedError
