"""Several masks on one column, applied in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import NDArray

from aegis.data.domain import Domain
from aegis.data.kind import Kind
from aegis.errors import MaskError
from aegis.masking.mask import Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain(Mask):
    """Masks applied one after the other; written as a list in configurations."""

    name: ClassVar[str] = "chain"
    links: tuple[Mask, ...]

    def __post_init__(self) -> None:
        if len(self.links) < 2 or any(isinstance(link, Chain) for link in self.links):
            raise MaskError("a chain of masks is a flat list of two or more")
        if any(link.injective for link in self.links[:-1]):
            raise MaskError("tokens and pseudonyms come last in a chain; nothing can be made of them")

    def describe(self) -> str:
        return ", then ".join(link.describe() for link in self.links)

    def kind_after(self, kind: Kind) -> Kind:
        for link in self.links:
            kind = link.kind_after(kind)
        return kind

    def check(self, kind: Kind, *, column: str) -> None:
        for link in self.links:
            link.check(kind, column=column)
            kind = link.kind_after(kind)

    def check_domain(self, domain: Domain, *, column: str) -> None:
        self.check(domain.kind, column=column)
        self.links[0].check_domain(domain, column=column)

    def resolve(self, domain: Domain, counts: NDArray[Any]) -> Chain:
        from aegis.masking.transition import transition  # the two know each other: a chain is resolved link by link

        resolved: list[Mask] = []
        for link in self.links:
            fixed = link.resolve(domain, counts)
            resolved.append(fixed)
            step = transition(fixed, domain, counts)
            domain, counts = step.target, step.push(counts)
        return Chain(links=tuple(resolved))

    def spec(self) -> Any:
        return [link.spec() for link in self.links]

    def fingerprint(self) -> Any:
        return [link.fingerprint() for link in self.links]
