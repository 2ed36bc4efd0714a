"""Ways to sign in beside a password: people known to an identity provider, and second factors of local accounts."""

from __future__ import annotations

import datetime

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from aegis.catalog.database.tables import ID_LENGTH, Table, of_table


class ExternalIdentity(Table):
    """Somebody as an identity provider knows them: its address, and what it calls the person for good."""

    __tablename__ = "external_identities"
    issuer: Mapped[str] = mapped_column(String(255), primary_key=True)
    subject: Mapped[str] = mapped_column(String(255), primary_key=True)
    user_id: Mapped[str] = of_table("users.id", index=True)
    created_at: Mapped[datetime.datetime]
    last_seen_at: Mapped[datetime.datetime]


class SecondFactor(Table):
    """The secret that a person's authenticator shares with the catalog; it counts once a first code was right."""

    __tablename__ = "second_factors"
    user_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("users.id"), primary_key=True)
    secret: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime.datetime]
    confirmed_at: Mapped[datetime.datetime | None]
    last_step: Mapped[int] = mapped_column(BigInteger)
    """The latest thirty seconds of which a code was used: none of them, nor any before, works again."""


class RecoveryCode(Table):
    """A code for somebody whose authenticator is lost, known by its hash; it works once."""

    __tablename__ = "recovery_codes"
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = of_table("users.id", index=True)
    used_at: Mapped[datetime.datetime | None]


class HalfSignIn(Table):
    """A browser whose password was right and whose second factor is still to come."""

    __tablename__ = "half_sign_ins"
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[str] = of_table("users.id", index=True)
    expires_at: Mapped[datetime.datetime] = mapped_column(index=True)
