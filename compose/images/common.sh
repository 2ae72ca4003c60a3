# What the image builders share; read by them, not run. Images that are there are left alone.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
trial="$top/.venv/bin/kafka-trial"
debian=kafka-trial/debian:$(. /etc/os-release && echo "$VERSION_CODENAME")-1  # raise the number when its packages change
packages=openjdk-17-jre-headless,python3,python3-venv,busybox-static

need() { command -v "$1" >/dev/null || { echo "$1 is not on the PATH: $2." >&2; exit 4; }; }
have() { docker image inspect "$1" >/dev/null 2>&1; }
based_on() { [ "$(docker image inspect --format '{{index .Config.Labels "kafka-trial.base"}}' "$1" 2>/dev/null)" = "$2" ]; }

need docker "install Docker (Debian: apt-get install docker.io)"
docker info >/dev/null 2>&1 || { echo "Docker does not answer: start it, or set DOCKER_HOST." >&2; exit 4; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# This machine's own Debian, with Java and Python: the lowest layer of all that follows, so it is stored once.
debian_image() {
  have "$debian" && return
  need debootstrap "install it (Debian: apt-get install debootstrap), or let Docker reach a registry"
  [ "$(id -u)" = 0 ] || { echo "debootstrap needs root: run this as root, or let Docker reach a registry." >&2; exit 4; }
  echo "building $debian"
  local root="$scratch/root"
  mkdir "$root"
  debootstrap --variant=minbase --include="$packages" "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" >"$scratch/log" 2>&1 ||
    { echo "debootstrap failed: $(tail -n 1 "$scratch/log")" >&2; exit 4; }
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale} "$root"/var/log/*
  ln -s busybox "$root/bin/wget"  # as official images have it; health checks call it
  tar --create --one-file-system --directory "$root" . | docker import - "$debian" >/dev/null
  rm -rf "$root"
}

# docker build with a folder as its context; what it says is shown only if it fails.
built() { # TAG FOLDER [OPTION …]
  local tag="$1" folder="$2"
  shift 2
  echo "building $tag"
  docker build --tag "$tag" "$@" "$folder" >"$scratch/log" 2>&1 || { tail -n 20 "$scratch/log" >&2; exit 4; }
}
