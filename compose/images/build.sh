#!/usr/bin/env bash
# Builds the container images on the spot, for machines that reach no image registry: kafka-trial/kafka:VERSION with the
# layout of the official apache/kafka image (java on the PATH, jars in /opt/kafka/libs), kafka-trial/toxiproxy, and what
# compose/stack runs (stack.sh, beside this file).
# Needs root, debootstrap and a running Docker. Takes two minutes the first time; an image that is there is left alone.
#
#   compose/images/build.sh [KAFKA_VERSION …]
set -euo pipefail
. "$(dirname "$0")/common.sh"
versions=("$@")
[ $# -gt 0 ] || versions=(4.3.1 4.1.0)

toxiproxy=$("$trial" fetch --where toxiproxy)
tag="kafka-trial/toxiproxy:$(basename "$(dirname "$toxiproxy")")"
if ! have "$tag"; then
  echo "building $tag"
  tar --create --directory "$(dirname "$toxiproxy")" toxiproxy-server |
    docker import --change 'ENTRYPOINT ["/toxiproxy-server"]' - "$tag" >/dev/null
fi

for version in "${versions[@]}"; do
  tag="kafka-trial/kafka:$version"
  based_on "$tag" "$debian" && continue
  debian_image
  echo "building $tag"
  jars=$("$trial" fetch --kafka "$version" --where kafka)
  made=$(docker create "$debian" java)
  # Readable by everybody, whatever they are in the cache: compose/stack runs brokers as an ordinary user.
  tar --create --directory "$jars" --mode=a+rX --owner=0 --group=0 --transform 's,^\.,opt/kafka/libs,' . | docker cp - "$made:/"
  docker commit --change "LABEL kafka-trial.base=$debian" "$made" "$tag" >/dev/null
  docker rm "$made" >/dev/null
done

"$here/stack.sh"
