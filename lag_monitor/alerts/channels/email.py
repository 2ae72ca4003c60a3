"""Mail, as text and as simple HTML. What follows an open hangs under it, as answers do.

Names of groups come from strangers and go into headers: they are made printable first, and the library encodes the rest.
"""

import smtplib
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from html import escape
from pathlib import Path
from typing import Literal

from kernel.errors import UsageError
from lag_monitor.alerts.channels.channel import SAMPLE, Refused
from lag_monitor.alerts.notices import Kind, Notice
from lag_monitor.alerts.wording import facts, headline, partitions, shown


@dataclass(frozen=True, slots=True)
class Email:
    name: str
    host: str
    port: int
    sender: str
    to: tuple[str, ...]
    security: Literal["none", "starttls", "tls"] = "starttls"
    username: str = ""
    password: str = field(default="", repr=False)
    ca_file: str = ""
    timeout: float = 5.0

    @property
    def refresh(self) -> float:
        return 0.0

    def check(self) -> None:
        what = f"the mail channel {self.name}"
        if not self.to:
            raise UsageError(f"{what} has nobody in to.")
        if self.ca_file and not Path(self.ca_file).is_file():
            raise UsageError(f"{what}: there is no CA file {self.ca_file}.")
        if self.username and self.security == "none":
            raise UsageError(f"{what} has a login, and security is none: the password would be sent in the open.")
        for address in (self.sender, *self.to):
            if not _is_address(address):
                raise UsageError(f"{what}: {address!r} is not an address like name@example.org.")
        self.message(SAMPLE)

    def send(self, notice: Notice) -> None:
        where = f"{self.host}:{self.port}"
        try:
            server = self._connected()
            try:
                server.send_message(self.message(notice), self.sender, list(self.to))
                with suppress(
                    smtplib.SMTPException, OSError
                ):  # it has the mail: a farewell that fails must not send it again
                    server.quit()
            finally:
                server.close()
        except smtplib.SMTPRecipientsRefused as trouble:
            codes = [code for code, _ in trouble.recipients.values()]
            raise Refused(f"{where} takes none of the recipients: {_codes(codes)}.", permanent=min(codes) >= 500) from None
        except smtplib.SMTPAuthenticationError as trouble:  # may be mended without us: it is tried again
            raise Refused(f"{where} does not take the login of {shown(self.username)}: {trouble.smtp_code}.") from None
        except smtplib.SMTPResponseException as trouble:
            said = trouble.smtp_error.decode("utf-8", "replace") if isinstance(trouble.smtp_error, bytes) else ""
            permanent = trouble.smtp_code >= 500
            raise Refused(f"{where} answers {trouble.smtp_code} {shown(said, 200)}.", permanent=permanent) from None
        except ssl.SSLCertVerificationError:
            raise Refused(f"{where} has no certificate that we trust; see ca_file.") from None
        except TimeoutError:
            raise Refused(f"{where} does not answer within {self.timeout:g} s.") from None
        except (smtplib.SMTPException, OSError) as trouble:
            raise Refused(f"mail could not be handed to {where}: {shown(str(trouble), 200)}.") from None

    def _connected(self) -> smtplib.SMTP:
        if self.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self.port, timeout=self.timeout, context=self._trust())
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=self.timeout)
        try:
            if self.security == "starttls":
                server.starttls(context=self._trust())
            if self.username:
                server.login(self.username, self.password)
        except BaseException:
            server.close()
            raise
        return server

    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca_file or None)

    def message(self, notice: Notice) -> EmailMessage:
        mail = EmailMessage(policy=SMTP)
        mail["From"], mail["To"] = self.sender, ", ".join(self.to)
        # The same subject all along, but for what mail programs pass over when they put a thread together.
        mail["Subject"] = f"[kafka-trial] {headline(notice)}"
        mail["Date"] = format_datetime(datetime.fromtimestamp(notice.at, UTC))
        mail["Message-ID"] = self._id(notice.incident, 1 if notice.kind is Kind.OPEN else notice.seq)
        if notice.kind is not Kind.OPEN:
            mail["In-Reply-To"] = mail["References"] = self._id(notice.incident, 1)
        mail["Auto-Submitted"] = "auto-generated"  # so that nobody's absence is answered
        mail["X-Incident-Key"] = notice.key
        mail.set_content(_text(notice))
        mail.add_alternative(_html(notice), subtype="html")
        return mail

    def _id(self, incident: str, number: int) -> str:
        return f"<{incident}.{number}@{self.sender.rpartition('@')[2]}>"


def _is_address(told: str) -> bool:
    try:
        parsed = Address(addr_spec=told)
    except Exception:  # the library raises what it likes
        return False
    return told.isascii() and told.isprintable() and bool(parsed.username and parsed.domain)


def _codes(codes: list[int]) -> str:
    return ", ".join(str(code) for code in sorted(set(codes)))


def _text(notice: Notice) -> str:
    lines = [headline(notice), "", *(f"{name + ':':10}{value}" for name, value in facts(notice))]
    worst = partitions(notice)
    return "\n".join([*lines, *(["", "worst partitions:", *worst] if worst else []), ""])


def _html(notice: Notice) -> str:
    rows = "".join(f"<tr><th align='left'>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts(notice))
    worst = "".join(f"<li>{escape(line)}</li>" for line in partitions(notice))
    listed = f"<p>worst partitions:</p><ul>{worst}</ul>" if worst else ""
    return f"<html><body><p><b>{escape(headline(notice))}</b></p><table>{rows}</table>{listed}</body></html>\n"
