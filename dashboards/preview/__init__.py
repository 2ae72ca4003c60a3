"""Dashboards drawn without a Grafana: one page of HTML each, from what a Prometheus answers."""
