"""``aegis audit``: is the record as it was written?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rich.text import Text

from aegis.catalog.commands.catalog_options import OwnCatalog, catalog_command, open_catalog
from aegis.commands import terminal
from aegis.operation import Option, operation
from aegis.plural import count
from aegis.result import Result


@dataclass(frozen=True, kw_only=True)
class VerifyAudit(OwnCatalog):
    """Walk the chain of hashes and find any row that was changed, removed, added or moved.

    Exit status 1 if the chain is broken. Note the head elsewhere: whoever can rewrite the whole database can rewrite
    the whole chain, but not what you noted.
    """

    head: Annotated[str | None, Option("A head that was noted earlier; it must still be in the chain.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditVerdict(Result):
    """Whether the chain is whole: how many rows were walked, where it first fails and why, and its last hash."""

    rows: int
    intact: bool
    first_broken: int | None
    reason: str | None
    head: str

    @property
    def exit_status(self) -> int:
        """1 if the chain is broken."""
        return 0 if self.intact else 1

    @property
    def headline(self) -> str:
        """Whether it is intact."""
        if self.intact:
            return f"intact: {count(self.rows, 'row')}"
        return f"broken at row {self.first_broken}: {self.reason}"


@operation(VerifyAudit)
def verify_audit(options: VerifyAudit) -> AuditVerdict:
    """Walk the catalog's record; with a ``head`` that was noted earlier, see that it is still in the chain."""
    with open_catalog(options) as catalog:
        from aegis.catalog.records import record_of  # an extra
        from aegis.catalog.service.audit_log import verify
        from aegis.catalog.service.permissions import SYSTEM

        with catalog.read(SYSTEM) as work:
            verdict = verify(work, expected_head=options.head)
    return record_of(AuditVerdict, verdict)


@catalog_command("audit verify", VerifyAudit, run="aegis.catalog.commands.audit:verify_audit")
def audit_command(verdict: AuditVerdict, options: VerifyAudit) -> None:
    """Whether it is whole, and the head to note."""
    mark, _, rest = verdict.headline.partition(" ")
    style = "bold green" if verdict.intact else "bold red"
    terminal.out().print(Text.assemble((f"{mark} ", style), rest), soft_wrap=True)
    if verdict.intact:
        terminal.out().print(f"head: {verdict.head}", soft_wrap=True)
