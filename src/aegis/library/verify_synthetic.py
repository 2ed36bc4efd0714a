"""What can be checked of made-up rows: the files, and the arithmetic of the promise.

That the noise was drawn as stated cannot be seen from the outside; that what is stated adds up to the promise can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from aegis.candidates.synthesis.accounting import delta_of
from aegis.data.dataset import Dataset
from aegis.errors import VerificationError

_ROUNDING = 1e-6


def check_promise(content: Mapping[str, Any]) -> str:
    """Add up what was measured and hold it against the promise; answers what was found, or raises."""
    promise, measured = content["promise"], content["measured"]
    if content["private"] is not True:
        raise VerificationError("the noise was drawn by a seed: the table is for tests and protects nobody")
    if not measured:
        raise VerificationError("no measurement is stated, and rows that nothing was measured for are not made of data")
    length = float(promise["rows_each"])
    for entry in measured:
        cost = length**2 * entry["marginals"] / (2 * entry["sigma"] ** 2)
        if not math.isclose(cost, entry["rho"], rel_tol=_ROUNDING):
            raise VerificationError("a measurement costs another share of the budget than its noise comes to")
    spent = math.fsum(entry["rho"] for entry in measured)
    delta_spent = math.fsum(entry["delta"] for entry in measured)
    if spent > content["rho"] * (1 + _ROUNDING) or delta_spent > content["found_delta"] * (1 + _ROUNDING):
        raise VerificationError("the measurements exceed the budget that the certificate states")
    epsilon, delta = promise["epsilon"], promise["delta"]
    if not delta_of(spent, epsilon) + delta_spent <= delta * (1 + _ROUNDING):
        raise VerificationError("what was measured comes to a larger epsilon than is promised")
    return f"{len(measured)} measurements, ρ = {spent:.4g} together, come to ε = {epsilon:g} at δ = {delta:g}"


def check_columns(content: Mapping[str, Any], table: Dataset, rows: int) -> str:
    """Hold the file's columns and rows against the certificate; answers what was found, or raises."""
    if tuple(table.schema.names) != tuple(content["columns"]):
        raise VerificationError("the columns of the file are not those that the certificate names")
    present = [name for name in content["left_out"] if name in table.schema]
    if present:
        raise VerificationError(f"the file has the column {present[0]!r} that its certificate says was left out")
    if rows != content["release"]["rows"]:
        raise VerificationError("the file has another number of rows than the certificate states")
    return f"{len(content['columns'])} columns and {rows:,} rows, as stated"
