"""Products are found by what is in them: tags, one text to search, and comments on requests."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add two tables and a column, and fill the column from what the products say."""
    op.create_table(
        "product_tags",
        sa.Column("product_id", sa.String(32), sa.ForeignKey("products.id"), primary_key=True),
        sa.Column("tag", sa.String(40), primary_key=True),
    )
    op.create_index("products_of_tag", "product_tags", ["tag"])
    op.create_table(
        "comments",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("request_id", sa.String(32), sa.ForeignKey("requests.id"), nullable=False),
        sa.Column("user_id", sa.String(32), sa.ForeignKey("users.id"), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("comments_of_request", "comments", ["request_id", "created_at"])
    op.add_column("products", sa.Column("search_text", sa.Text(), nullable=False, server_default=""))
    connection = op.get_bind()
    products = sa.table(
        "products",
        sa.column("id", sa.String(32)),
        sa.column("name", sa.Text()),
        sa.column("title", sa.Text()),
        sa.column("description", sa.Text()),
        sa.column("columns", sa.JSON()),
        sa.column("search_text", sa.Text()),
    )
    for row in connection.execute(sa.select(products)).all():
        columns = json.loads(row.columns) if isinstance(row.columns, str) else row.columns
        texts = [row.name, row.title, row.description]
        texts += [part for column in columns for part in (column["name"], column.get("description", ""))]
        text = "\n".join(part for part in texts if part).lower()
        connection.execute(products.update().where(products.c.id == row.id).values(search_text=text))
