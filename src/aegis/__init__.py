"""Aegis: share data that is private enough to leave and useful enough to learn from.

The public names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from aegis._version import __version__

_HOMES: dict[str, str] = {
    "AegisError": "aegis.errors",
    "Client": "aegis.client.client",
    "Configuration": "aegis.masking.configuration",
    "Hierarchy": "aegis.data.hierarchy",
    "Ranking": "aegis.advisor.ranking",
    "Roles": "aegis.data.schema",
    "Summary": "aegis.summaries.summary",
    "advise": "aegis.workflows.advise",
    "anonymize": "aegis.workflows.anonymize",
    "apply": "aegis.workflows.apply",
    "check": "aegis.workflows.check",
    "compare": "aegis.workflows.compare",
    "evaluate": "aegis.workflows.evaluate",
    "exposure": "aegis.workflows.exposure",
    "generate": "aegis.workflows.generate",
    "inspect": "aegis.workflows.inspect",
    "load_configurations": "aegis.masking.configuration_file",
    "merge_summaries": "aegis.workflows.parts",
    "open_dataset": "aegis.data.engine",
    "read_summary": "aegis.summaries.folder",
    "release": "aegis.workflows.release",
    "search": "aegis.workflows.search",
    "summarize": "aegis.workflows.summarize",
    "tune": "aegis.workflows.tune",
    "verify": "aegis.workflows.verify",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'aegis' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
