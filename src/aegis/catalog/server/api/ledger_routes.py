"""What was released from a product, and what its provider judged together."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from aegis.catalog import records
from aegis.catalog.records import JointVerdict, MaskedPart, ModelBroken
from aegis.catalog.server.api import bodies
from aegis.catalog.server.api.bodies import ProductPath
from aegis.catalog.server.api.calls import JsonRoute, Read, Write
from aegis.catalog.service import judged_together, ledger

router = APIRouter(tags=["ledger"], route_class=JsonRoute)


@router.get(
    "/products/{product}/ledger", response_model=records.ProductLedger, summary="What was released from a product"
)
def show(call: Read, product: ProductPath) -> Any:
    """Every release that left, to whom, whether the chain is intact, and the maskings that may be released next."""
    with call.read() as work:
        return ledger.ledger(work, product=product)


@router.post(
    "/products/{product}/ledger/verdicts", response_model=records.JudgedTogether, summary="Say what shows what together"
)
def judge(call: Write, product: ProductPath, judged: bodies.JointVerdicts) -> Response:
    """What the provider found on the rows: which maskings break which model together, for how many records."""
    verdicts = [
        JointVerdict(
            parts=tuple(
                MaskedPart(content_id=part.content_id, columns=None if part.columns is None else tuple(part.columns))
                for part in verdict.parts
            ),
            satisfied=verdict.satisfied,
            broken=tuple(ModelBroken(model=model.model, records=model.records) for model in verdict.broken),
        )
        for verdict in judged.verdicts
    ]
    return call.once(
        records.JudgedTogether,
        lambda work: records.JudgedTogether(
            verdicts=judged_together.judge_together(
                work, product=product, policy_id=judged.policy_id, verdicts=verdicts
            )
        ),
        body=judged,
    )
