"""How long was each partition dark after each fault, for sends and for polls, and is that within its bound? Pure."""

from chaos.recovery.attempts import Track
from chaos.recovery.rows import recover
from chaos.recovery.words import error_budget, reasons, worst

__all__ = ["Track", "error_budget", "reasons", "recover", "worst"]
