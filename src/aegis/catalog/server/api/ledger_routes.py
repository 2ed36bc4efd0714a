"""What was released from a product, and what its provider judged together."""

from __future__ import annotations

from aegis.catalog import records
from aegis.catalog.records import JointVerdict
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import ProductPath
from aegis.catalog.server.api.calls import ApiRouter
from aegis.catalog.service import judged_together, ledger
from aegis.catalog.service.catalog import Work

router = ApiRouter(tags=["ledger"])


@router.reads("/products/{product}/ledger", "What was released from a product")
def show(work: Work, product: ProductPath) -> records.ProductLedger:
    """Every release that left, to whom, whether the chain is intact, and the maskings that may be released next."""
    return ledger.ledger(work, product=product)


@router.writes("/products/{product}/ledger/verdicts", "Say what shows what together")
def judge(work: Work, product: ProductPath, judged: bodies.JointVerdicts) -> records.JudgedTogether:
    """What the provider found on the rows: which maskings break which model together, for how many records."""
    verdicts = [records.read(JointVerdict, verdict) for verdict in judged.keywords()["verdicts"]]
    number = judged_together.judge_together(work, product=product, policy_id=judged.policy_id, verdicts=verdicts)
    return records.JudgedTogether(verdicts=number)
