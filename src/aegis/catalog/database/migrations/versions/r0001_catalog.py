"""The first form of the catalog: every table, an audit that the database itself refuses to change, an empty chain."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from aegis.catalog.database.connection import append_only

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create everything."""
    ident = sa.String(32)
    moment = sa.DateTime(timezone=True)
    document = sa.JSON(none_as_null=True)
    op.create_table(
        "attempts",
        sa.Column("id", ident, primary_key=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("at", moment, nullable=False),
    )
    op.create_index("attempts_by_address", "attempts", ["address", "at"])
    op.create_index("attempts_by_name", "attempts", ["name", "at"])
    op.create_table(
        "audit",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, primary_key=True),
        sa.Column("at", moment, nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("actor_id", ident),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("subject", ident, nullable=False),
        sa.Column("subject_id", ident, nullable=False),
        sa.Column("product_id", ident),
        sa.Column("details", document, nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_index("audit_of_product", "audit", ["product_id", "sequence"])
    op.create_index("audit_of_subject", "audit", ["subject_id"])
    op.create_table(
        "chain_head",
        sa.Column("id", sa.Integer(), autoincrement=False, primary_key=True),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "settings",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("value", document, nullable=False),
    )
    op.create_table(
        "users",
        sa.Column("id", ident, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text()),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("created_at", moment, nullable=False),
    )
    op.create_table(
        "idempotency",
        sa.Column("user_id", ident, sa.ForeignKey("users.id"), primary_key=True),
        sa.Column("key", sa.String(128), primary_key=True),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", document),
        sa.Column("created_at", moment, nullable=False),
    )
    op.create_index("ix_idempotency_created_at", "idempotency", ["created_at"])
    op.create_table(
        "links",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("purpose", sa.String(16), nullable=False),
        sa.Column("user_id", ident, sa.ForeignKey("users.id")),
        sa.Column("expires_at", moment, nullable=False),
        sa.Column("used_at", moment),
    )
    op.create_table(
        "products",
        sa.Column("id", ident, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("columns", document, nullable=False),
        sa.Column("label", sa.Text()),
        sa.Column("policy", document),
        sa.Column("owner_id", ident, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("changed_at", moment, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
    )
    op.create_index("ix_products_state", "products", ["state"])
    op.create_table(
        "sign_ins",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("user_id", ident, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("csrf", sa.String(64), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("expires_at", moment, nullable=False),
        sa.Column("last_seen_at", moment, nullable=False),
    )
    op.create_index("ix_sign_ins_expires_at", "sign_ins", ["expires_at"])
    op.create_index("ix_sign_ins_user_id", "sign_ins", ["user_id"])
    op.create_table(
        "assignments",
        sa.Column("id", ident, primary_key=True),
        sa.Column("user_id", ident, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("product_id", ident, sa.ForeignKey("products.id")),
    )
    op.create_index("ix_assignments_product_id", "assignments", ["product_id"])
    op.create_table(
        "configurations",
        sa.Column("id", ident, primary_key=True),
        sa.Column("product_id", ident, sa.ForeignKey("products.id"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content", document, nullable=False),
        sa.Column("content_id", sa.String(12), nullable=False),
        sa.Column("proposed_by", ident, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("withdrawn_at", moment),
        sa.UniqueConstraint("product_id", "content_id"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", ident, primary_key=True),
        sa.Column("kind", ident, nullable=False),
        sa.Column("product_id", ident, sa.ForeignKey("products.id"), nullable=False),
        sa.Column("subject_id", ident),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("parameters", document, nullable=False),
        sa.Column("progress", sa.Float(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("result", document),
        sa.Column("error", sa.Text()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("worker", sa.String(64)),
        sa.Column("heartbeat_at", moment),
        sa.Column("created_by", ident, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("started_at", moment),
        sa.Column("ended_at", moment),
    )
    op.create_index("jobs_of_product", "jobs", ["product_id", "created_at"])
    op.create_index("jobs_to_claim", "jobs", ["state", "created_at"])
    op.create_table(
        "summaries",
        sa.Column("id", ident, primary_key=True),
        sa.Column("product_id", ident, sa.ForeignKey("products.id"), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("level", sa.String(8), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("configurations", document, nullable=False),
        sa.Column("exposure", document),
        sa.Column("histograms", document, nullable=False),
        sa.Column("pushed_by", ident, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("current", sa.Boolean(), nullable=False),
    )
    op.create_index("ix_summaries_digest", "summaries", ["digest"])
    op.create_index(
        "one_current_summary",
        "summaries",
        ["product_id"],
        unique=True,
        sqlite_where=sa.text("current"),
        postgresql_where=sa.text("current"),
    )
    op.create_index("summaries_of_product", "summaries", ["product_id", "created_at"])
    op.create_table(
        "tokens",
        sa.Column("id", ident, primary_key=True),
        sa.Column("user_id", ident, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("prefix", sa.String(16), nullable=False),
        sa.Column("scopes", document, nullable=False),
        sa.Column("product_id", ident, sa.ForeignKey("products.id")),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("expires_at", moment, nullable=False),
        sa.Column("revoked_at", moment),
        sa.Column("last_used_at", moment),
    )
    op.create_index("ix_tokens_user_id", "tokens", ["user_id"])
    op.create_table(
        "requests",
        sa.Column("id", ident, primary_key=True),
        sa.Column("product_id", ident, sa.ForeignKey("products.id"), nullable=False),
        sa.Column("consumer_id", ident, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("columns", document, nullable=False),
        sa.Column("days", sa.Integer(), nullable=False),
        sa.Column("measure", sa.Text()),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("configuration_id", ident, sa.ForeignKey("configurations.id")),
        sa.Column("reason", sa.Text()),
        sa.Column("decided_by", ident, sa.ForeignKey("users.id")),
        sa.Column("decided_at", moment),
        sa.Column("job_id", ident),
        sa.Column("release_id", ident),
        sa.Column("expires_at", moment),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("changed_at", moment, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
    )
    op.create_index("requests_by_time", "requests", ["created_at"])
    op.create_index("requests_of_consumer", "requests", ["consumer_id", "created_at"])
    op.create_index("requests_of_product", "requests", ["product_id", "created_at"])
    op.create_index("requests_to_expire", "requests", ["state", "expires_at"])
    op.create_table(
        "releases",
        sa.Column("id", ident, primary_key=True),
        sa.Column("product_id", ident, sa.ForeignKey("products.id"), nullable=False),
        sa.Column("configuration_id", ident, sa.ForeignKey("configurations.id")),
        sa.Column("request_id", ident, sa.ForeignKey("requests.id")),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("certificate", document, nullable=False),
        sa.Column("certificate_digest", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("job_id", ident),
        sa.Column("pushed_by", ident, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("created_at", moment, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
    )
    op.create_index("ix_releases_digest", "releases", ["digest"])
    op.create_index("ix_releases_request_id", "releases", ["request_id"])
    op.create_index("releases_of_product", "releases", ["product_id", "created_at"])
    op.create_table(
        "downloads",
        sa.Column("id", ident, primary_key=True),
        sa.Column("release_id", ident, sa.ForeignKey("releases.id"), nullable=False),
        sa.Column("request_id", ident, sa.ForeignKey("requests.id")),
        sa.Column("user_id", ident, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("at", moment, nullable=False),
    )
    op.create_index("ix_downloads_release_id", "downloads", ["release_id"])
    op.create_index(
        "one_role_per_product", "assignments", ["user_id", "role", sa.text("coalesce(product_id, '')")], unique=True
    )
    append_only("audit", called="audit")
    op.execute(f"INSERT INTO chain_head (id, sequence, hash) VALUES (1, 0, '{'0' * 64}')")  # noqa: S608 - constants
