#!/usr/bin/env bash
# Builds what compose/stack runs, for machines that reach no image registry: kafka-trial itself, through the Dockerfile, and
# Prometheus, Alertmanager and Zipkin with the entry points, users and folders of the official images, so that the same
# compose file runs them. Grafana cannot be had this way. Prints the environment that makes the compose file use them.
# Needs what build.sh needs, and Debian's prometheus and prometheus-alertmanager. A second run takes seconds.
#
#   eval "$(compose/images/stack.sh --env)"     only prints it, and builds nothing
set -euo pipefail
. "$(dirname "$0")/common.sh"
need prometheus "install it (Debian: apt-get install prometheus)"
need prometheus-alertmanager "install it (Debian: apt-get install prometheus-alertmanager)"
debian_version() { dpkg-query -W -f '${Version}' "$1" | sed 's/^[0-9]*://; s/[^A-Za-z0-9_.-]/-/g'; }

python="$top/.venv/bin/python"
extras=exporter,lag,audit,tracing,dashboards,trials
more=opentelemetry-exporter-zipkin-json
version=$("$python" -c 'import kafka_trial; print(kafka_trial.__version__)')
zipkin_version=3.6.1
wheels_of=$({ echo "$debian" "$more"; "$python" "$here/needs.py" "$top/pyproject.toml" "$extras"; cat "$top/requirements/dev.txt" "$top/compose/java/pom.xml"; } | sha256sum | cut -c1-12)

builder="kafka-trial/builder:$wheels_of"
packages="kafka-trial/packages:$wheels_of"
ours="kafka-trial/kafka-trial:$version"
prometheus="kafka-trial/prometheus:$(debian_version prometheus)"
alertmanager="kafka-trial/alertmanager:$(debian_version prometheus-alertmanager)"
zipkin="kafka-trial/zipkin:$zipkin_version"

if [ "${1:-}" = --env ]; then
  printf 'export %s\n' KAFKA_IMAGE=kafka-trial/kafka:4.3.1 "KAFKA_TRIAL_IMAGE=$ours" "PROMETHEUS_IMAGE=$prometheus" \
    "ALERTMANAGER_IMAGE=$alertmanager" "ZIPKIN_IMAGE=$zipkin"
  exit
fi

debian_image

# Wheels and the agent's jar, fetched here, where the network and its settings are. By Debian's own Python, as that is the
# one in the image.
if ! have "$builder"; then
  mkdir -p "$scratch/builder/wheels" "$scratch/builder/jars"
  echo "fetching wheels"
  "$python" "$here/needs.py" "$top/pyproject.toml" "$extras" >"$scratch/needs.txt"
  "$python" -m pip --python /usr/bin/python3 wheel --quiet --disable-pip-version-check --wheel-dir "$scratch/builder/wheels" \
    --constraint "$top/requirements/dev.txt" --requirement "$scratch/needs.txt" hatchling $more
  cp "$("$python" -c 'from compose.jars import javaagent_jar; print(javaagent_jar())')" "$scratch/builder/jars/"
  printf 'FROM %s\nCOPY wheels /wheels\nCOPY jars /jars\n' "$debian" >"$scratch/builder/Dockerfile"
  built "$builder" "$scratch/builder"
fi
arguments=(--build-arg "BASE=$debian" --build-arg "BUILDER=$builder" --build-arg "MAVEN=$builder" --build-arg "VERSION=$version")
built "$packages" "$top" "${arguments[@]}" --target packages  # named, so that it is kept; the rest takes seconds
built "$ours" "$top" "${arguments[@]}"
# What earlier sources and requirements left behind.
docker images --format '{{.Repository}} {{.Tag}}' |
  awk -v now="$wheels_of" '$1 ~ "^kafka-trial/(builder|packages)$" && $2 != now {print $1 ":" $2}' | xargs --no-run-if-empty docker rmi >/dev/null
docker image prune --force --filter label=org.opencontainers.image.title=kafka-trial >/dev/null

# Each with its program where the official image has it, run by the same user, who owns the folder where its data go.
official() { # TAG PROGRAM-HERE NAME DATA-FOLDER
  have "$1" && return
  mkdir "$scratch/$3"
  cp "$2" "$scratch/$3/$3"
  cp -r /usr/share/prometheus "$scratch/$3/share"  # pages and templates, which Debian keeps out of the programs
  cat >"$scratch/$3/Dockerfile" <<END
FROM $debian
COPY $3 /bin/$3
COPY share /usr/share/prometheus
RUN mkdir -p $4 /etc/$3 && chown 65534:65534 $4
USER 65534:65534
WORKDIR $4
ENTRYPOINT ["/bin/$3"]
END
  built "$1" "$scratch/$3"
}
official "$prometheus" "$(command -v prometheus)" prometheus /prometheus
official "$alertmanager" "$(command -v prometheus-alertmanager)" alertmanager /alertmanager

if ! have "$zipkin"; then
  mkdir "$scratch/zipkin"
  need mvn "install it (Debian: apt-get install maven)"
  cp "$("$python" - "$zipkin_version" <<'END'
import subprocess, sys
from compose.cache import cached
from compose.toolchain import find_maven

version = sys.argv[1]
artifact = f"io.zipkin:zipkin-server:{version}:jar:exec"
words = [find_maven(), "--quiet", "--batch-mode", "--strict-checksums", "dependency:copy", f"-Dartifact={artifact}"]
fetch = lambda into: subprocess.run([*words, f"-DoutputDirectory={into}"], check=True, stdout=sys.stderr, cwd=into)
folder = cached(f"zipkin/{version}", fetch, mend=f"remove the folder zipkin/{version} from the cache")
print(next(folder.glob("*.jar")))
END
)" "$scratch/zipkin/zipkin.jar"
  printf '#!/bin/sh\nexec java $JAVA_OPTS -jar /zipkin/zipkin.jar "$@"\n' >"$scratch/zipkin/start-zipkin"
  chmod 755 "$scratch/zipkin/start-zipkin"
  cat >"$scratch/zipkin/Dockerfile" <<END
FROM $debian
COPY zipkin.jar /zipkin/zipkin.jar
COPY start-zipkin /usr/local/bin/start-zipkin
USER 1000:1000
ENTRYPOINT ["start-zipkin"]
END
  built "$zipkin" "$scratch/zipkin"
fi
