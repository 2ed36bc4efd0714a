"""What an administrator may set: limits, times, and how much a password check costs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import urlsplit

from aegis.errors import InputError

MEBIBYTE = 1 << 20
DATABASE_VARIABLE, STORAGE_VARIABLE = "AEGIS_DATABASE", "AEGIS_STORAGE"
SETTINGS_VARIABLE = "AEGIS_SETTINGS"
SMTP_PASSWORD_VARIABLE = "AEGIS_SMTP_PASSWORD"  # noqa: S105 - the name of a variable
OIDC_SECRET_VARIABLE = "AEGIS_OIDC_CLIENT_SECRET"  # noqa: S105 - the name of a variable
LOG_VARIABLE = "AEGIS_LOG_FORMAT"
TEXT, JSON = "text", "json"
"""Lines for people, or one JSON object a line for programs."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""This machine: what goes there may go in the clear."""
CERTIFICATE_VARIABLE, KEY_VARIABLE = "AEGIS_TLS_CERTIFICATE", "AEGIS_TLS_KEY"


ROLES = ("admin", "provider", "registrar", "expert", "consumer")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRole:
    """What the members of a group at the identity provider may do: a role, for one product or for all."""

    group: str
    role: str
    product: str | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InputError(f"oidc_roles maps a group to one of {', '.join(ROLES)}, or to “provider of NAME”")
        if self.product is not None and self.role in ("admin", "registrar"):
            raise InputError("administrators and registrars are such for the whole catalog; name no product")


def read_group_roles(mapping: object) -> tuple[GroupRole, ...]:
    """The groups of a settings file and what they may do.

    >>> [(mapped.role, mapped.product) for mapped in read_group_roles({"team": ["consumer", "provider of clinic"]})]
    [('consumer', None), ('provider', 'clinic')]
    """
    if not isinstance(mapping, dict):
        raise InputError("oidc_roles is a mapping like {stewards: expert, clinic-team: provider of clinic}")
    mapped = []
    for group, listed in mapping.items():
        words = listed if isinstance(listed, list) else [listed]
        if not isinstance(group, str) or not all(isinstance(word, str) for word in words):
            raise InputError("oidc_roles maps names of groups to roles, both text")
        for word in words:
            role, _, product = word.partition(" of ")
            mapped.append(GroupRole(group=group, role=role.strip(), product=product.strip() or None))
    return tuple(mapped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits in bytes, times in the unit of their name, the cost of argon2, and where people find the catalog.

    ``public_url`` stands in invitations, mails and commands that are shown; nothing that a request says does. Mails go
    to ``smtp_host``, its password is in AEGIS_SMTP_PASSWORD. Webhooks reach the internet, and of private networks those
    in ``webhook_networks``. With ``oidc_issuer`` people sign in at an identity provider by OpenID Connect; the secret
    of the client ``oidc_client_id`` is in AEGIS_OIDC_CLIENT_SECRET, and ``oidc_roles`` says what its groups may do.
    """

    public_url: str = ""
    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_name: str = "your organisation"
    oidc_scopes: str = "openid profile email"
    oidc_name_claim: str = "preferred_username"
    oidc_groups_claim: str = "groups"
    oidc_roles: tuple[GroupRole, ...] = ()
    oidc_roles_days: int = 30
    oidc_skew_seconds: int = 60
    signatures_required: bool = False
    releases_judged_together: bool = True
    local_accounts: bool = True
    second_factor_required: bool = False
    smtp_host: str = ""
    smtp_port: int = 587
    smtp_security: str = "starttls"
    smtp_user: str = ""
    mail_from: str = ""
    webhook_networks: str = ""

    mail_pause_seconds: float = 60.0
    delivery_seconds: float = 120.0
    delivery_attempts: int = 12
    expiring_days: int = 7
    notification_days: int = 180

    summary_bytes: int = 128 * MEBIBYTE
    summary_unpacked_bytes: int = 128 * MEBIBYTE
    summary_file_bytes: int = 16 * MEBIBYTE
    summary_files: int = 5_000
    release_bytes: int = 4096 * MEBIBYTE
    certificate_bytes: int = 8 * MEBIBYTE
    document_bytes: int = 4 * MEBIBYTE
    free_bytes: int = 256 * MEBIBYTE
    stored_bytes_per_product: int = 256 * 1024 * MEBIBYTE
    stored_bytes_per_person: int = 512 * 1024 * MEBIBYTE
    requests_per_minute: int = 3_000
    database_wait_seconds: float = 10.0
    header_seconds: float = 15.0
    connections_per_address: int = 400
    upload_idle_seconds: float = 30.0
    upload_bytes_per_second: int = 32_768
    session_hours: int = 12
    link_hours: int = 72
    token_days: int = 365
    request_days: int = 730
    pending_days: int = 90
    sign_in_failures: int = 5
    sign_in_window_minutes: int = 15
    idempotency_hours: int = 48
    audit_walk_hours: float = 24.0
    heartbeat_seconds: float = 30.0
    job_attempts: int = 3
    job_seconds: float = 1_800.0
    job_memory_bytes: int = 4096 * MEBIBYTE
    job_result_bytes: int = 64 * MEBIBYTE
    job_file_bytes: int = 8192 * MEBIBYTE
    release_decoded_bytes: int = 16_384 * MEBIBYTE
    jobs_queued_per_product: int = 20
    password_characters: int = 12
    argon2_time_cost: int = 3
    argon2_memory_kib: int = 65_536
    argon2_lanes: int = 1

    def __post_init__(self) -> None:
        parts = urlsplit(self.public_url)
        if self.public_url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.query):
            raise InputError("the setting public_url must be an address like https://catalog.example")
        for field in fields(self):
            if field.type in ("int", "float") and not getattr(self, field.name) > 0:
                raise InputError(f"the setting {field.name} must be above 0")
        self._check_mail()
        self._check_sign_in()

    def _check_sign_in(self) -> None:
        if not self.oidc_issuer:
            if self.oidc_client_id or self.oidc_roles or not self.local_accounts:
                raise InputError(
                    "oidc_client_id, oidc_roles and local_accounts: false are used with oidc_issuer; set it too"
                )
            return
        issuer = urlsplit(self.oidc_issuer)
        local = issuer.scheme == "http" and issuer.hostname in LOOPBACK
        if (issuer.scheme != "https" and not local) or not issuer.hostname or issuer.query or issuer.fragment:
            raise InputError("the setting oidc_issuer must be an address like https://login.example/realm")
        if not self.oidc_client_id:
            raise InputError("with oidc_issuer set oidc_client_id too: the name under which it knows the catalog")
        if not self.public_url:
            raise InputError("the identity provider sends people back to the catalog: with oidc_issuer set public_url")
        if "openid" not in self.oidc_scopes.split():
            raise InputError("oidc_scopes must hold openid, as in: openid profile email")
        if not self.local_accounts and not any(mapped.role == "admin" for mapped in self.oidc_roles):
            raise InputError(
                "without local accounts somebody of a group must administrate: map one to admin in oidc_roles"
            )
        if not self.local_accounts and self.second_factor_required:
            raise InputError("second_factor_required is about local accounts; there are none")

    def _check_mail(self) -> None:
        if self.smtp_security not in ("starttls", "tls", "none"):
            raise InputError("the setting smtp_security is starttls, tls or none")
        if not self.smtp_host:
            if self.smtp_user or self.mail_from:
                raise InputError("smtp_user and mail_from are used with smtp_host; set it, or none of them")
            return
        if not self.public_url:
            raise InputError("mails link to the catalog: with smtp_host set public_url too")
        if "@" not in self.mail_from or not self.mail_from.isprintable():
            raise InputError("with smtp_host set mail_from too, like catalog@example.org")
        if self.smtp_security == "none" and self.smtp_user:
            raise InputError("a password would travel to the mail server in the clear; set smtp_security, or no user")


def read_settings(path: Path | None) -> Settings:
    """The settings of a file; what it does not name stays as it is."""
    if path is None:
        return Settings()
    from aegis.data.yaml_text import read_mapping  # the command line starts without it

    content = read_mapping(path, error=InputError)
    kinds = {field.name: field.type for field in fields(Settings)}
    for name, value in content.items():
        if name not in kinds:
            raise InputError(f"{path} names no setting with {name!r}; there are {', '.join(kinds)}")
        if name == "oidc_roles":
            continue
        if kinds[name] == "str":
            if not isinstance(value, str):
                raise InputError(f"{path}: {name} must be text")
        elif kinds[name] == "bool":
            if not isinstance(value, bool):
                raise InputError(f"{path}: {name} must be true or false")
        elif isinstance(value, bool) or not isinstance(value, int | float if kinds[name] == "float" else int):
            raise InputError(f"{path}: {name} must be a number{'' if kinds[name] == 'float' else ' without decimals'}")
    if "oidc_roles" in content:
        content = {**content, "oidc_roles": read_group_roles(content["oidc_roles"])}
    return Settings(**content)
