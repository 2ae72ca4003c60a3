"""The evidence of an application's own traffic, written by an interceptor: what `kafka-trial check` judges."""

from interceptors.ledger.ledger import Ledger

__all__ = ["Ledger"]
