"""Kafka's metrics for Prometheus, from one catalogue."""
