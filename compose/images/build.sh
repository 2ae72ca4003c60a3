#!/usr/bin/env bash
# Builds the container images on the spot, for machines that reach no image registry: kafka-trial/kafka:VERSION with the
# layout of the official apache/kafka image (java on the PATH, jars in /opt/kafka/libs), and kafka-trial/toxiproxy.
# Needs root, debootstrap and a running Docker. Takes a minute the first time; an image that is there is left alone.
#
#   compose/images/build.sh [KAFKA_VERSION …]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
trial="$top/.venv/bin/kafka-trial"
versions=("$@")
[ $# -gt 0 ] || versions=(4.3.1 4.1.0)

need() { command -v "$1" >/dev/null || { echo "$1 is not on the PATH: $2." >&2; exit 4; }; }
need docker "install Docker (Debian: apt-get install docker.io)"
docker info >/dev/null 2>&1 || { echo "Docker does not answer: start it, or set DOCKER_HOST." >&2; exit 4; }
have() { docker image inspect "$1" >/dev/null 2>&1; }

toxiproxy=$("$trial" fetch --where toxiproxy)
tag="kafka-trial/toxiproxy:$(basename "$(dirname "$toxiproxy")")"
if ! have "$tag"; then
  echo "building $tag"
  tar --create --directory "$(dirname "$toxiproxy")" toxiproxy-server |
    docker import --change 'ENTRYPOINT ["/toxiproxy-server"]' - "$tag" >/dev/null
fi

java=kafka-trial/java:17
if ! have "$java"; then
  need debootstrap "install it (Debian: apt-get install debootstrap), or let Docker reach a registry"
  [ "$(id -u)" = 0 ] || { echo "debootstrap needs root: run this as root, or let Docker reach a registry." >&2; exit 4; }
  echo "building $java"
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  debootstrap --variant=minbase --include=openjdk-17-jre-headless "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" >"$root.log" 2>&1 ||
    { echo "debootstrap failed: $(tail -n 1 "$root.log")" >&2; exit 4; }
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale} "$root.log"
  tar --create --one-file-system --directory "$root" . | docker import - "$java" >/dev/null
fi

for version in "${versions[@]}"; do
  tag="kafka-trial/kafka:$version"
  have "$tag" && continue
  echo "building $tag"
  jars=$("$trial" fetch --kafka "$version" --where kafka)
  made=$(docker create "$java" java)
  tar --create --directory "$jars" --transform 's,^\.,opt/kafka/libs,' . | docker cp - "$made:/"
  docker commit "$made" "$tag" >/dev/null
  docker rm "$made" >/dev/null
done
