"""A message as a mail, and handing it to a mail server."""

from __future__ import annotations

import os
import smtplib
import ssl
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP

from aegis.catalog.service.outbox import Message
from aegis.catalog.settings import SMTP_PASSWORD_VARIABLE, Settings
from aegis.errors import AegisError

_SECONDS = 30.0
_CLOSING = "This was sent by a data catalog. How you are notified is chosen on the page of your account: "


class DeliveryError(AegisError):
    """A message was not accepted; ``for_good``: it will not be the next time either."""

    def __init__(self, message: str, *, for_good: bool) -> None:
        super().__init__(message)
        self.for_good = for_good


def as_mail(message: Message, *, settings: Settings) -> EmailMessage:
    """The mail, in plain text. Its id is that of the message: a mail that comes twice is recognised by it."""
    mail = EmailMessage(policy=SMTP)
    base = settings.public_url.rstrip("/")
    if message.code is not None:
        subject = "Confirm your mail address"
        lines = [f"The code for your address is {message.code}.", "Type it on the page of your account within a day:"]
        lines += [f"{base}/account", "", "If you did not ask for it, somebody mistyped; nothing else will come."]
    else:
        subject = message.items[0].words if len(message.items) == 1 else f"{len(message.items)} things for you"
        lines = []
        for item in message.items:
            lines += [item.words, f"{base}{item.path}", ""]
    mail["Subject"] = f"Aegis: {subject}"[:200]
    mail["From"] = settings.mail_from
    mail["To"] = Address(addr_spec=str(message.mail_address))
    domain = settings.mail_from.rpartition("@")[2].strip("> ") or "aegis.invalid"
    mail["Message-ID"] = f"<{message.id}@{domain}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content("\n".join([f"Hello {message.person},", "", *lines, "", f"{_CLOSING}{base}/account", ""]))
    return mail


def send_mail(message: Message, *, settings: Settings) -> None:
    """Hand a message to the mail server; `DeliveryError` where it does not take it."""
    mail = as_mail(message, settings=settings)
    try:
        with _connected(settings) as server:
            if settings.smtp_user:
                server.login(settings.smtp_user, os.environ.get(SMTP_PASSWORD_VARIABLE, ""))
            server.send_message(mail)
    except smtplib.SMTPRecipientsRefused as error:
        codes = [code for code, _ in error.recipients.values()]
        raise DeliveryError(
            f"the mail server refused the address ({', '.join(map(str, codes))})", for_good=min(codes) >= 500
        ) from None
    except smtplib.SMTPAuthenticationError:
        raise DeliveryError("the mail server did not accept the catalog's own password", for_good=False) from None
    except smtplib.SMTPResponseException as error:
        raise DeliveryError(f"the mail server answered {error.smtp_code}", for_good=error.smtp_code >= 550) from None
    except (OSError, smtplib.SMTPException, UnicodeError) as error:
        raise DeliveryError(f"the mail server could not be reached ({type(error).__name__})", for_good=False) from None


def _connected(settings: Settings) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if settings.smtp_security == "tls":
        return smtplib.SMTP_SSL(settings.smtp_host, settings.smtp_port, timeout=_SECONDS, context=context)
    server = smtplib.SMTP(settings.smtp_host, settings.smtp_port, timeout=_SECONDS)
    if settings.smtp_security == "starttls":
        try:
            server.starttls(context=context)
        except BaseException:
            server.close()
            raise
    return server
