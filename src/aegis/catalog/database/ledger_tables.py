"""What was released from each product, as a chain of hashes; what providers judged together; and the keys they sign
with."""

from __future__ import annotations

import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from aegis.catalog.database.tables import ID_LENGTH, Table, id_column, of_table


class LedgerEntry(Table):
    """Something left, or no longer counts. Rows are only ever added; each holds the hash of the one before."""

    __tablename__ = "ledger_entries"
    product_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("products.id"), primary_key=True)
    sequence: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    at: Mapped[datetime.datetime]
    act: Mapped[str] = mapped_column(String(16))
    content: Mapped[dict[str, Any]]
    previous: Mapped[str] = mapped_column(String(64))
    hash: Mapped[str] = mapped_column(String(64))


class LedgerHead(Table):
    """Where the ledger of a product ends, so that a cut end is noticed as well."""

    __tablename__ = "ledger_heads"
    product_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("products.id"), primary_key=True)
    sequence: Mapped[int] = mapped_column(BigInteger)
    hash: Mapped[str] = mapped_column(String(64))


class JointVerdict(Table):
    """What a provider found of several maskings together, on rows that the catalog never sees."""

    __tablename__ = "joint_verdicts"
    product_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("products.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    satisfied: Mapped[bool]
    broken: Mapped[list[Any]]
    judged_by: Mapped[str] = of_table("users.id")
    judged_at: Mapped[datetime.datetime]


class ProviderKey(Table):
    """The public part of a key that somebody signs certificates with."""

    __tablename__ = "provider_keys"
    id: Mapped[str] = id_column()
    user_id: Mapped[str] = of_table("users.id", index=True)
    name: Mapped[str]
    public: Mapped[str]
    fingerprint: Mapped[str] = mapped_column(String(16), unique=True)
    created_at: Mapped[datetime.datetime]
    revoked_at: Mapped[datetime.datetime | None]
