"""Find records that were lost or came twice, in production: every tier counts what it has, and an auditor compares."""

from interceptors.audit.interceptor import Audit

__all__ = ["Audit"]
