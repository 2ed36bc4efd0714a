"""Aegis: share data that is private enough to leave and useful enough to learn from.

The public names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from aegis._version import __version__

_HOMES: dict[str, str] = {
    "AegisError": "aegis.errors",
    "Client": "aegis.catalog.client.client",
    "Configuration": "aegis.masking.configuration",
    "Hierarchy": "aegis.data.hierarchy",
    "Ranking": "aegis.ranking.ranking",
    "Roles": "aegis.data.schema",
    "Summary": "aegis.counts.summary",
    "advise": "aegis.library.advise",
    "anonymize": "aegis.library.anonymize",
    "apply": "aegis.library.apply",
    "check": "aegis.library.check",
    "compare": "aegis.library.compare",
    "evaluate": "aegis.library.evaluate",
    "exposure": "aegis.library.exposure",
    "generate": "aegis.library.generate",
    "inspect": "aegis.library.inspect",
    "load_configurations": "aegis.masking.configuration_file",
    "merge_summaries": "aegis.library.parts",
    "open_dataset": "aegis.data.engine",
    "read_summary": "aegis.counts.folder",
    "release": "aegis.library.release",
    "search": "aegis.library.search",
    "summarize": "aegis.library.summarize",
    "tune": "aegis.library.tune",
    "verify": "aegis.library.verify",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'aegis' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
