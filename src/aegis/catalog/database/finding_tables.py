"""What products are found by, and what people say to each other about a request."""

from __future__ import annotations

import datetime

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from aegis.catalog.database.tables import ID_LENGTH, Table, id_column, of_table


class ProductTag(Table):
    """A word that a product is filed under."""

    __tablename__ = "product_tags"
    __table_args__ = (Index("products_of_tag", "tag"),)
    product_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("products.id"), primary_key=True)
    tag: Mapped[str] = mapped_column(String(40), primary_key=True)


class Comment(Table):
    """What somebody said about a request, to those who see it."""

    __tablename__ = "comments"
    __table_args__ = (Index("comments_of_request", "request_id", "created_at"),)
    id: Mapped[str] = id_column()
    request_id: Mapped[str] = of_table("requests.id")
    user_id: Mapped[str] = of_table("users.id")
    words: Mapped[str]
    created_at: Mapped[datetime.datetime]
