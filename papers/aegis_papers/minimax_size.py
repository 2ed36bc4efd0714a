"""How large the repeated experiments are."""

from __future__ import annotations

from dataclasses import dataclass

from aegis.candidates.sanitizers.gaussian_curve import AuditRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Counts of one run; rows are those of the audits."""

    points: int
    trials: int
    rounds: int
    gaussian_epochs: int
    binary_epochs: int
    network_epochs: int
    gaussian_rows: AuditRows
    binary_rows: int
    attackers: tuple[str, ...] | None


def size_of(*, quick: bool) -> Size:
    """A few minutes on two cores, or a few seconds."""
    if quick:
        return Size(
            points=3,
            trials=1,
            rounds=1,
            gaussian_epochs=4,
            binary_epochs=20,
            network_epochs=20,
            gaussian_rows=AuditRows(fit=3_000, compare=3_000, measure=20_000),
            binary_rows=6_000,
            attackers=("neighbours",),
        )
    return Size(
        points=10,
        trials=5,
        rounds=2,
        gaussian_epochs=60,
        binary_epochs=200,
        network_epochs=300,
        gaussian_rows=AuditRows(fit=30_000, compare=20_000, measure=200_000),
        binary_rows=100_000,
        attackers=None,
    )
