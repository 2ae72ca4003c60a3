"""The token that lets us in: from the environment or a file, never from a command line, where others can read it."""

from collections.abc import Mapping
from pathlib import Path

from kernel.errors import UsageError

VARIABLE, FILE_VARIABLE, CA_VARIABLE = "GRAFANA_TOKEN", "GRAFANA_TOKEN_FILE", "GRAFANA_CA_FILE"
MOST = 64 << 10  # bytes; a token is far shorter, a file that is longer is something else


def token_from(file: Path | None, environment: Mapping[str, str]) -> str:
    """A file that is named has the word, then the variable, then the file that a variable names."""
    named = environment.get(FILE_VARIABLE, "")
    if file is not None:
        return _checked(_read(file), str(file))
    if environment.get(VARIABLE, "").strip():
        return _checked(environment[VARIABLE], VARIABLE)
    if named:
        return _checked(_read(Path(named)), named)
    raise UsageError(
        f"Grafana wants a token and none was given: put that of a service account into {VARIABLE}, "
        "or into a file and name it with --token-file."
    )


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(MOST).decode("utf-8")
    except OSError as error:
        raise UsageError(f"the token file {file} cannot be read: {error.strerror or error}.")
    except UnicodeDecodeError:
        raise UsageError(f"the token file {file} holds something that is not text: it should hold a token and nothing else.")


def _checked(text: str, where: str) -> str:
    """What cannot stand in a header is refused here: the HTTP library would print it in its complaint."""
    token = text.strip()
    if not token:
        raise UsageError(f"{where} holds no token: it is empty.")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(f"what {where} holds is no token: it has spaces, line ends or letters that no token has.")
    return token
