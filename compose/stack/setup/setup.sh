#!/bin/sh
# What the stack needs before anything starts. Runs at each `up`, and changes nothing that is right already.
set -eu

# The agent's jar. Under another name first: a broker that runs must not see half of it.
jar=jmx_prometheus_javaagent.jar
if ! cmp -s "/opt/agent/$jar" "/var/lib/stack/agent/$jar"; then
  cp "/opt/agent/$jar" "/var/lib/stack/agent/.$jar"
  mv "/var/lib/stack/agent/.$jar" "/var/lib/stack/agent/$jar"
fi

# New volumes belong to root, and brokers do not run as root.
chown 1000:1000 /var/lib/kafka/1 /var/lib/kafka/2 /var/lib/kafka/3

# Grafana's first password: as told, or one that nobody knows yet. For Grafana's user alone.
password=/var/lib/stack/secrets/grafana-password
if [ -n "${GRAFANA_PASSWORD:-}" ] || [ ! -s "$password" ]; then
  (umask 077 && printf '%s' "${GRAFANA_PASSWORD:-$(python -c 'import secrets; print(secrets.token_urlsafe(18))')}" >"$password.new")
  chmod 400 "$password.new"
  chown 472:0 "$password.new"
  mv -f "$password.new" "$password"
fi
echo "ready. Grafana's user is admin, its password is in the volume: docker compose -f compose/stack/compose.yaml exec grafana cat /run/stack/grafana-password"
