"""Grafana dashboards and alert rules, as code and proved on broken clusters."""
