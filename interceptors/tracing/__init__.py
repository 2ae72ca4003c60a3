"""Traces through Kafka that tell the truth about delivery, with OpenTelemetry or without it. See docs/tracing.md."""

from interceptors.tracing.interceptor import Tracing
from interceptors.tracing.process import process, process_batch, processing

__all__ = ["Tracing", "process", "process_batch", "processing"]
