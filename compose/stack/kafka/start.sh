#!/bin/sh
# One node: its configuration put together, its storage formatted if it is new, then the broker in the place of this script.
# Calls java itself, with the jars where the official image has them, and so runs on any image with that layout.
set -eu
cluster=a2Fma2EtdHJpYWwuZGVtbw  # 16 bytes in base64, the same for all nodes
config=/tmp/server.properties
data=/var/lib/kafka/$NODE
libs='/opt/kafka/libs/*'  # for the JVM to expand, not for a shell

cat /etc/kafka-stack/server.properties - >"$config" <<END
node.id=$NODE
log.dirs=$data
advertised.listeners=CLIENT://kafka-$NODE:9092,HOST://127.0.0.1:$HOST_PORT,CONTROLLER://kafka-$NODE:9093
END

if [ ! -f "$data/meta.properties" ]; then
  java -XX:TieredStopAtLevel=1 -cp "$libs" kafka.tools.StorageTool format --config "$config" --cluster-id "$cluster" --ignore-formatted
fi
exec java -Xms384m -Xmx384m -XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError -Djava.awt.headless=true \
  "-javaagent:/opt/agent/jmx_prometheus_javaagent.jar=9404:/etc/kafka-stack/agent.yaml" \
  -Dlog4j2.configurationFile=/etc/kafka-stack/log4j2.properties \
  -cp "$libs" kafka.Kafka "$config"
