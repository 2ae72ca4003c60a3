"""Throw-away certificates and passwords for one cluster; they live and die with its folder.

Nodes prove themselves to each other by certificate. Clients do so by certificate (tls) or by SCRAM password
(sasl_ssl). Everything is PEM, so neither keytool nor a store password is needed.
"""

import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from compose.broker_config import ADMIN_PRINCIPAL, NODE_PRINCIPAL, SCRAM, node_name
from kernel.cluster import ClusterAddress


@dataclass
class Credentials:
    """The certificate authority of one cluster. `folder` receives what clients need, readable by its owner alone."""

    folder: Path
    security: str
    certificate_days: float | None = None  # of nodes
    admin_password: str = field(default_factory=lambda: secrets.token_urlsafe(18), repr=False)

    def __post_init__(self) -> None:
        import trustme

        self._authority = trustme.CA(organization_name="kafka-trial", organization_unit_name="throw-away")
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.ca_pem = self._authority.cert_pem.bytes()
        _private(self.folder / "ca.pem", self.ca_pem)

    @property
    def first_user(self) -> str | None:
        """In the storage tool's words: the administrator, who must be known before the first start. None with tls."""
        return f"{SCRAM}=[name={ADMIN_PRINCIPAL},password={self.admin_password}]" if self.security == "sasl_ssl" else None

    def node_files(self, node: int) -> dict[str, bytes]:
        """A node's own key and certificate, good for the names its peers and its clients use."""
        days = self.certificate_days
        until = datetime.now(UTC) + timedelta(days=days) if days is not None else None
        return {"node.pem": self.node_certificate(node, until=until), "ca.pem": self.ca_pem}

    def node_certificate(self, node: int, principal: str = NODE_PRINCIPAL, *, until: datetime | None = None) -> bytes:
        return self._issue(principal, node_name(node), "localhost", "127.0.0.1", until=until)

    def address(self, bootstrap: str, user: str = ADMIN_PRINCIPAL, password: str | None = None) -> ClusterAddress:
        """How `user` gets in. With tls a certificate is issued; with sasl_ssl the broker must know the password already."""
        ca = str(self.folder / "ca.pem")
        if self.security == "tls":
            file = self.folder / f"{user}.pem"
            if not file.exists():
                _private(file, self._issue(user, user))
            return ClusterAddress(bootstrap, "SSL", ca_file=ca, certificate_file=str(file), key_file=str(file))
        return ClusterAddress(
            bootstrap,
            "SASL_SSL",
            ca_file=ca,
            sasl_mechanism=SCRAM,
            username=user,
            password=password or self.admin_password,
        )

    def _issue(self, principal: str, *names: str, until: datetime | None = None) -> bytes:
        """Key, then certificate chain, in one PEM. Kafka reads PKCS#8 keys only; trustme writes the older form."""
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
            load_pem_private_key,
        )

        # trustme would draw a unit's name, and a broker takes no new certificate of another distinguished name.
        certificate = self._authority.issue_cert(
            *names, common_name=principal, organization_name="kafka-trial", organization_unit_name="throw-away",
            not_after=until,
        )  # fmt: skip
        key = load_pem_private_key(certificate.private_key_pem.bytes(), password=None)
        pkcs8 = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return pkcs8 + b"".join(blob.bytes() for blob in certificate.cert_chain_pems)


def _private(file: Path, content: bytes) -> None:
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_bytes(content)
