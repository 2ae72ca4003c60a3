"""What producers and consumers in Python can tell of themselves, for Prometheus.

from exporters.clients import watched
producer = Producer(watched({"bootstrap.servers": "…"}))
"""

from exporters.clients.watching import ClientMetrics, watched

__all__ = ["ClientMetrics", "watched"]
