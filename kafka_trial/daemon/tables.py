"""Tables that the configuration files of all daemons have in common. A key that is not known is a mistake, not a comment."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FilePath, model_validator

Seconds = Annotated[float, Field(gt=0, le=86_400)]


def _host_port(told: str) -> str:
    if not is_host_port(told):
        raise ValueError("not host:port")
    return told


def is_host_port(told: str) -> bool:
    host, _, port = told.rpartition(":")
    return bool(host and "/" not in host and port.isdigit() and int(port) < 65_536)


HostPort = Annotated[str, AfterValidator(_host_port)]


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Login(Table):
    """A user and where the password is: never the password itself, for configuration files are shown around."""

    username: Annotated[str, Field(min_length=1)]
    password_file: FilePath | None = None
    password_env: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.password_file is None) == (self.password_env is None):
            raise ValueError("needs either password_file or password_env")
        return self


class ServerTls(Table):
    cert_file: FilePath
    key_file: FilePath


class Daemon(Table):
    """What every daemon's file may say of its HTTP side."""

    listen: HostPort
    tls: ServerTls | None = None
    login: Login | None = None  # that a scrape must bring


class Kafka(Table):
    """A cluster and how to be let in. More of librdkafka's settings go into `settings`, passwords excepted."""

    bootstrap: Annotated[str, Field(min_length=1)]
    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    ca_file: FilePath | None = None
    cert_file: FilePath | None = None
    key_file: FilePath | None = None
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    login: Login | None = None
    settings: dict[str, str | int | float | bool] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.protocol.startswith("SASL") and not (self.sasl_mechanism and self.login):
            raise ValueError(f"protocol {self.protocol} needs sasl_mechanism and a login table")
        if not self.protocol.startswith("SASL") and (self.sasl_mechanism or self.login):
            raise ValueError(f"has a login, and protocol is {self.protocol}: it should be SASL_SSL or SASL_PLAINTEXT")
        for key in self.settings:
            if "password" in key or "secret" in key:
                raise ValueError(f"settings holds {key}: a password belongs into a file or the environment, see login")
        return self
