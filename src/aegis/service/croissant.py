"""Metadata of a product for other catalogs and search engines: Croissant 1.0."""

from __future__ import annotations

from typing import Any

from aegis.service.catalog import Work


def croissant(work: Work, *, product: str, base_url: str) -> dict[str, Any]:
    """The JSON-LD document; files are the verified releases that the actor may download, each with its certificate."""
    raise NotImplementedError
