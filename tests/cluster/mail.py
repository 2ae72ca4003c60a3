"""A real SMTP server on this machine, which keeps what it is sent."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from kernel.waiting import wait_until
from tests.cluster.daemons import free_port

PASSWORD = "the password of mail"


@dataclass
class Postbox:
    port: int
    answers: list[str] = field(default_factory=list)  # to the next mails, in turn; afterwards all are taken
    mails: list[EmailMessage] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        if self.answers:
            return self.answers.pop(0)
        mail = message_from_bytes(envelope.content, policy=default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        return "250 OK"

    def login(self, _server: Any, _session: Any, _envelope: Any, mechanism: str, told: Any) -> AuthResult:
        assert isinstance(told, LoginPassword)
        self.logins.append(f"{told.login.decode()} by {mechanism}")
        return AuthResult(success=told.password.decode() == PASSWORD, handled=False)  # the server is to answer a wrong one

    def gets(self, count: int) -> list[EmailMessage]:
        return wait_until(lambda: list(self.mails), lambda seen: len(seen) == count, what=f"{count} mails", timeout=30)


@contextmanager
def postbox(*answers: str, starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None) -> Iterator[Postbox]:
    box = Postbox(free_port(), list(answers))
    login: dict[str, Any] = {"authenticator": box.login, "auth_required": True} if starttls else {}
    controller = Controller(
        box,
        hostname="127.0.0.1",
        port=box.port,
        ssl_context=tls,
        tls_context=starttls,
        require_starttls=starttls is not None,
        **login,
    )
    controller.start()
    try:
        yield box
    finally:
        controller.stop()
