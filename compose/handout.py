"""What a cluster hands to its users: files that clients take as they are."""

from pathlib import Path

from kernel.cluster import ClusterAddress


def write_client_properties(folder: Path, address: ClusterAddress) -> dict[str, str]:
    """For librdkafka (kcat -F, confluent-kafka) and for Java (--command-config). They may hold a password: owner only."""
    folder.mkdir(mode=0o700, exist_ok=True)
    written = {}
    for kind, settings in (("librdkafka", address.librdkafka()), ("java", address.java())):
        file = folder / f"{kind}.properties"
        file.touch(mode=0o600)
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        written[kind] = str(file)
    return written


def read_client_properties(file: Path, bootstrap: str) -> ClusterAddress:
    """The address that `write_client_properties` wrote for librdkafka, at another door of the same cluster."""
    settings = dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)
    return ClusterAddress(
        bootstrap=bootstrap,
        protocol=settings["security.protocol"],
        ca_file=settings.get("ssl.ca.location"),
        certificate_file=settings.get("ssl.certificate.location"),
        key_file=settings.get("ssl.key.location"),
        sasl_mechanism=settings.get("sasl.mechanism"),
        username=settings.get("sasl.username"),
        password=settings.get("sasl.password"),
    )
