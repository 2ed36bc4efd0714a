"""Attacks are tried on the sites of the pages' tests."""

from __future__ import annotations

from tests.catalog.pages.conftest import battered_site, clinic_site, fresh, serve, work

__all__ = ["battered_site", "clinic_site", "fresh", "serve", "work"]
