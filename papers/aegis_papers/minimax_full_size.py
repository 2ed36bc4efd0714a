"""What the minimax paper's protocol gives at its own size: two runs on a GPU, kept as benchmark results.

They take an accelerator, so a chapter quotes them; a test holds the numbers equal to the committed files.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FullSize:
    """A full-size run: distortions with an accepted trial, and mean losses over those of the closed form."""

    result: str
    command: str
    points: int
    asked_points: int
    trials: int
    claimed_ratio: float
    audited_ratio: float
    own_ratio: float | None
    stronger: int  # points at which a fresh attacker has over a twentieth less error

    @property
    def words(self) -> str:
        return (
            f"Full size ({self.asked_points} distortions, {self.trials} trials; {self.points} of {self.asked_points} "
            f"have accepted trials): benchmarks/results/{self.result}.json, by {self.command}."
        )


FULL_GAUSSIAN = FullSize(
    result="sanitizer_paper",
    command="python benchmarks/sanitizer_paper.py",
    points=30,
    asked_points=30,
    trials=15,
    claimed_ratio=0.9964,
    audited_ratio=0.9792,
    own_ratio=None,
    stronger=1,
)
FULL_BINARY = FullSize(
    result="sanitizer_paper_binary_h200",
    command="python benchmarks/sanitizer_paper_binary.py --name sanitizer_paper_binary_h200",
    points=16,
    asked_points=30,
    trials=15,
    claimed_ratio=2.7133,
    audited_ratio=0.1904,
    own_ratio=0.9998,
    stronger=14,
)
