"""Aegis: share data that is private enough to leave and useful enough to learn from.

The public names are loaded when first used, so that importing the package costs next to nothing; editors and type
checkers see them as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aegis._version import __version__
from aegis.loading import loaded as _loaded

if TYPE_CHECKING:
    from aegis.catalog.client.client import Client as Client
    from aegis.catalog.commands.pull import pull as pull
    from aegis.catalog.commands.push import push_configurations as push_configurations
    from aegis.catalog.commands.push import push_product as push_product
    from aegis.catalog.commands.push import push_release as push_release
    from aegis.catalog.commands.push import push_summary as push_summary
    from aegis.catalog.commands.upkeep import backup as backup
    from aegis.catalog.commands.upkeep import restore as restore
    from aegis.catalog.commands.upkeep import verify_audit as verify_audit
    from aegis.counts.folder import read_summary as read_summary
    from aegis.counts.summary import Summary as Summary
    from aegis.data.engine import open_dataset as open_dataset
    from aegis.data.hierarchy import Hierarchy as Hierarchy
    from aegis.data.schema import Roles as Roles
    from aegis.errors import AegisError as AegisError
    from aegis.library.advise import advise as advise
    from aegis.library.anonymize import anonymize as anonymize
    from aegis.library.apply import apply as apply
    from aegis.library.attack import attack as attack
    from aegis.library.check import check as check
    from aegis.library.clinic import demo as demo
    from aegis.library.compare import compare as compare
    from aegis.library.configurations import diff as diff
    from aegis.library.configurations import generate as generate
    from aegis.library.curve import curve_binary as curve_binary
    from aegis.library.curve import curve_gaussian as curve_gaussian
    from aegis.library.evaluate import evaluate as evaluate
    from aegis.library.exposure import exposure as exposure
    from aegis.library.guided.table import open as open
    from aegis.library.hierarchies import hierarchies as hierarchies
    from aegis.library.inspect import inspect as inspect
    from aegis.library.key import key_new as key_new
    from aegis.library.key import key_show as key_show
    from aegis.library.ledger import ledger_add as ledger_add
    from aegis.library.ledger import ledger_forget as ledger_forget
    from aegis.library.ledger import ledger_limit as ledger_limit
    from aegis.library.ledger import ledger_show as ledger_show
    from aegis.library.merge import merge as merge
    from aegis.library.reconstruct import reconstruct as reconstruct
    from aegis.library.reference import list_masks as list_masks
    from aegis.library.reference import list_measures as list_measures
    from aegis.library.release import release as release
    from aegis.library.run import run as run
    from aegis.library.sanitize import sanitize as sanitize
    from aegis.library.search import search as search
    from aegis.library.start import start as start
    from aegis.library.summarize import summarize as summarize
    from aegis.library.synthesize import synthesize as synthesize
    from aegis.library.tune import tune as tune
    from aegis.library.verify import verify as verify
    from aegis.masking.configuration import Configuration as Configuration
    from aegis.masking.configuration_file import load_configurations as load_configurations
    from aegis.ranking.ranking import Ranking as Ranking

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
    "attack": "aegis.library.attack",
    "backup": "aegis.catalog.commands.upkeep",
    "check": "aegis.library.check",
    "compare": "aegis.library.compare",
    "curve_binary": "aegis.library.curve",
    "curve_gaussian": "aegis.library.curve",
    "demo": "aegis.library.clinic",
    "diff": "aegis.library.configurations",
    "evaluate": "aegis.library.evaluate",
    "exposure": "aegis.library.exposure",
    "hierarchies": "aegis.library.hierarchies",
    "generate": "aegis.library.configurations",
    "inspect": "aegis.library.inspect",
    "ledger_add": "aegis.library.ledger",
    "ledger_forget": "aegis.library.ledger",
    "ledger_limit": "aegis.library.ledger",
    "ledger_show": "aegis.library.ledger",
    "key_new": "aegis.library.key",
    "key_show": "aegis.library.key",
    "list_masks": "aegis.library.reference",
    "list_measures": "aegis.library.reference",
    "load_configurations": "aegis.masking.configuration_file",
    "merge": "aegis.library.merge",
    "open": "aegis.library.guided.table",
    "open_dataset": "aegis.data.engine",
    "pull": "aegis.catalog.commands.pull",
    "push_configurations": "aegis.catalog.commands.push",
    "push_product": "aegis.catalog.commands.push",
    "push_release": "aegis.catalog.commands.push",
    "push_summary": "aegis.catalog.commands.push",
    "read_summary": "aegis.counts.folder",
    "reconstruct": "aegis.library.reconstruct",
    "release": "aegis.library.release",
    "restore": "aegis.catalog.commands.upkeep",
    "run": "aegis.library.run",
    "sanitize": "aegis.library.sanitize",
    "search": "aegis.library.search",
    "start": "aegis.library.start",
    "summarize": "aegis.library.summarize",
    "synthesize": "aegis.library.synthesize",
    "tune": "aegis.library.tune",
    "verify": "aegis.library.verify",
    "verify_audit": "aegis.catalog.commands.upkeep",
}

__all__ = ["__version__", *_HOMES]

if not TYPE_CHECKING:  # a type checker would take this for a promise of any name

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module 'aegis' has no attribute {name!r}")
        return getattr(_loaded(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
