"""The records of the catalog, each written once: the service makes them, the API sends them, the client reads them.

None of them holds a row of data. Each file holds those of one subject, and all are names of this package. A record that
a newer catalog sends may have fields that this version does not know; `read` leaves them out.
"""

from aegis.catalog.records.audit_records import Act, ChainStatus
from aegis.catalog.records.configuration_records import Configuration, Preview, PreviewRow
from aegis.catalog.records.job_records import Job
from aegis.catalog.records.ledger_records import (
    JointVerdict,
    JudgedTogether,
    LedgerEntry,
    MaskedPart,
    ModelBroken,
    ProductLedger,
    SigningKey,
    Together,
    TogetherStanding,
)
from aegis.catalog.records.making import read, record_of, write
from aegis.catalog.records.notification_records import NewNotificationChoice, Notification, NotificationChoice, Seen
from aegis.catalog.records.page import Health, Items, Page
from aegis.catalog.records.people_records import Me, Role, Scope, User, UserRole
from aegis.catalog.records.product_records import Column, Facet, Facets, Product, ProductEntry
from aegis.catalog.records.release_records import (
    ArrivalAttack,
    Holder,
    Lineage,
    PresentPolicy,
    Release,
    ReleaseVersion,
    Standing,
)
from aegis.catalog.records.request_records import AccessRequest, Comment, Overview, RequestWithHistory
from aegis.catalog.records.sign_in_records import Invitation, Link, NewToken, Session, Token
from aegis.catalog.records.summary_records import Bar, Histogram, Summary, Tick

__all__ = [
    "AccessRequest",
    "Act",
    "ArrivalAttack",
    "Bar",
    "ChainStatus",
    "Column",
    "Comment",
    "Configuration",
    "Facet",
    "Facets",
    "Health",
    "Histogram",
    "Holder",
    "Invitation",
    "Items",
    "Job",
    "JointVerdict",
    "JudgedTogether",
    "LedgerEntry",
    "Lineage",
    "Link",
    "MaskedPart",
    "Me",
    "ModelBroken",
    "NewNotificationChoice",
    "NewToken",
    "Notification",
    "NotificationChoice",
    "Overview",
    "Page",
    "PresentPolicy",
    "Preview",
    "PreviewRow",
    "Product",
    "ProductEntry",
    "ProductLedger",
    "Release",
    "ReleaseVersion",
    "RequestWithHistory",
    "Role",
    "Scope",
    "Seen",
    "Session",
    "SigningKey",
    "Standing",
    "Summary",
    "Tick",
    "Together",
    "TogetherStanding",
    "Token",
    "User",
    "UserRole",
    "read",
    "record_of",
    "write",
]
