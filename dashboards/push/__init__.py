"""Dashboards and annotations on their way to a Grafana: planned whole, written whole, or taken back."""
