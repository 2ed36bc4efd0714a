"""Masking configurations of a product: proposed, generated, previewed on published values, withdrawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aegis.service.catalog import Work
from aegis.service.views import ConfigurationView, Preview


def propose(
    work: Work, *, product: str, content: Mapping[str, Any] | str, name: str = "configuration"
) -> list[ConfigurationView]:
    """Enter one configuration or many, given as the mapping or as the YAML or JSON text of a configuration file.

    One that does the same as a known one is that one (a withdrawn one comes back).
    """
    raise NotImplementedError


def generate(
    work: Work, *, product: str, count: int = 20, strength: str = "mixed", seed: int = 0
) -> list[ConfigurationView]:
    """Make configurations from the published domains of the product's current summary, and enter them."""
    raise NotImplementedError


def withdraw(work: Work, *, configuration_id: str) -> ConfigurationView:
    """Offer it no longer; `ConflictError` while an approved request relies on it."""
    raise NotImplementedError


def list_configurations(work: Work, *, product: str, withdrawn: bool = False) -> list[ConfigurationView]:
    """The configurations of a product, by name."""
    raise NotImplementedError


def configuration(work: Work, *, configuration_id: str) -> ConfigurationView:
    """One configuration."""
    raise NotImplementedError


def as_yaml(view: ConfigurationView) -> str:
    """The configuration as a file that ``aegis release`` takes."""
    raise NotImplementedError


def preview(work: Work, *, product: str, column: str, mask: Any) -> Preview:
    """What a mask (``suppress``, ``{bucketize: {width: 10}}`` or a list) does to the column's published values."""
    raise NotImplementedError
