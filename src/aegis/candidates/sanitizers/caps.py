"""Caps on what a release may tell about any record, beside its distortion.

Each is a cone in the channel P(symbol | value): if two symbols satisfy a cap, so does their merger. The best release
under caps therefore stays a linear program, with one symbol for each way to use it (`capped_program`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from aegis.errors import SanitizerError

CERTAIN = 0.99
"""A value with a posterior of at least this is determined."""

DEFAULT_POSTERIOR = 0.98
"""The cap of a category where none was asked for."""

MOST_LOCAL_DP = 30.0
"""Beyond, the least probability that a cap on local differential privacy asks for is lost in drawing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Bounds that hold for every value, every symbol and everything an adversary may know; None is no bound.

    ``posterior``: no adversary believes any value with more than this. Where what it knows beside the release nearly
    says so by itself, the release at most halves the doubt that is left; ``strict`` allows no such exception: the cap
    holds everywhere, or nothing satisfies it. ``leakage``: the pointwise maximal leakage ε,
    P(symbol | value) ≤ e^ε · P(symbol | what an adversary knows). ``local_dp``: local differential privacy ε,
    P(symbol | value) ≤ e^ε · P(symbol | any other value), which needs no law at all.

    >>> Caps(posterior=0.9, local_dp=2).describe()
    'posterior at most 0.9, local differential privacy of ε = 2'
    """

    posterior: float | None = None
    leakage: float | None = None
    local_dp: float | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        if self.posterior is not None and not 0 < self.posterior <= 1:
            raise SanitizerError("a cap on posteriors lies above 0 and is at most 1, such as 0.9")
        for name, value in (("leakage", self.leakage), ("local differential privacy", self.local_dp)):
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise SanitizerError(f"the cap on {name} is a positive number ε, such as 2")

    def __bool__(self) -> bool:
        return any(value is not None for value in (self.posterior, self.leakage, self.local_dp))

    def describe(self) -> str:
        """The caps in words."""
        parts = []
        if self.posterior is not None:
            parts.append(f"posterior at most {self.posterior:g}{' (no cap at all)' if self.posterior == 1 else ''}")
        if self.leakage is not None:
            parts.append(f"pointwise leakage of ε = {self.leakage:g}")
        if self.local_dp is not None:
            parts.append(f"local differential privacy of ε = {self.local_dp:g}")
        return ", ".join(parts) or "no cap"

    def looser(self, name: str, share: float) -> Caps:
        """The same caps with one of them moved on its way to no cap: ``share`` 0 is as it is, 1 nearly none."""
        value = getattr(self, name)
        if name == "posterior":
            return replace(self, posterior=value + share * (1 - value))
        most = MOST_LOCAL_DP if name == "local_dp" else math.inf
        return replace(self, **{name: min(value + share * max(12.0, value), most)})
