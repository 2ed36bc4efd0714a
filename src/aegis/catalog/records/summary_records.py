"""Summaries of a product, and the distributions that they publish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary that was pushed: what it covers, and what it exposes."""

    id: str
    product_id: str
    digest: str
    bytes: int
    level: str
    rows: int
    label: str
    configurations: tuple[Mapping[str, Any], ...]
    exposure: Mapping[str, Any] | None
    pushed_by: str
    created_at: datetime
    current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """From `left` to `right` on the axis: a published value, a bin, or values that are not named (`merged`)."""

    left: float
    right: float
    share: float
    records: int
    name: str
    merged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A text under the axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """The published distribution of a column, without bars where there is none; `kind` is null if hidden."""

    column: str
    kind: str | None
    values: Annotated[int | None, Field(description="How many different values there are, named or not.")]
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    notes: tuple[str, ...] = ()
