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
CERTIFICATE_VARIABLE, KEY_VARIABLE = "AEGIS_TLS_CERTIFICATE", "AEGIS_TLS_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits in bytes, times in the unit of their name, the cost of argon2, and where people find the catalog.

    ``public_url`` stands in invitations, mails and commands that are shown; nothing that a request says does. Mails go
    to ``smtp_host``, its password is in AEGIS_SMTP_PASSWORD. Webhooks reach the internet, and of private networks those
    in ``webhook_networks``.
    """

    public_url: str = ""
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
            if field.type != "str" and not getattr(self, field.name) > 0:
                raise InputError(f"the setting {field.name} must be above 0")
        self._check_mail()

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
        if kinds[name] == "str":
            if not isinstance(value, str):
                raise InputError(f"{path}: {name} must be text")
        elif isinstance(value, bool) or not isinstance(value, int | float if kinds[name] == "float" else int):
            raise InputError(f"{path}: {name} must be a number{'' if kinds[name] == 'float' else ' without decimals'}")
    return Settings(**content)
