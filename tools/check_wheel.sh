#!/bin/sh
# Installs a wheel into an empty environment with an empty HOME, outside the project, and uses it.
set -eu
wheel=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
project=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT INT TERM
mkdir "$place/home" "$place/work"
cd "$place/work"
# what the machine needs to reach a package registry stays; everything of the user's goes
quiet() {
    env -i PATH="$PATH" HOME="$place/home" TERM=dumb \
        ${PIP_CONFIG_FILE:+PIP_CONFIG_FILE="$PIP_CONFIG_FILE"} \
        ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} \
        ${NPM_CONFIG_USERCONFIG:+NPM_CONFIG_USERCONFIG="$NPM_CONFIG_USERCONFIG"} "$@"
}
must_say() {
    wanted=$1; shift
    if said=$(quiet "$@" 2>&1); then
        echo "must fail: $*"; exit 1
    fi
    case $said in
        *Traceback*) echo "a traceback from: $*"; echo "$said"; exit 1 ;;
        *"$wanted"*) echo "ok: $*: $wanted" ;;
        *) echo "no '$wanted' from: $*"; echo "$said"; exit 1 ;;
    esac
}
"$python" -m venv "$place/venv"
quietswap=$place/venv/bin/quietswap
quiet "$place/venv/bin/pip" install -q --disable-pip-version-check "$wheel"
quiet "$quietswap" --version
echo "-- each extra missing"
must_say "the extra 'postgres'" env QUIETSWAP_STORAGE__URL=postgresql://u@127.0.0.1/d "$quietswap" migrate
must_say "the extra 'redis'" env QUIETSWAP_STORAGE__REDIS_URL=redis://127.0.0.1 "$quietswap" serve --check
must_say "the extra 'otel'" env QUIETSWAP_OBSERVE__OTLP_ENDPOINT=http://127.0.0.1:4318 \
    "$quietswap" serve --check
echo "-- what the image has"
"$python" -m venv "$place/image"
quiet "$place/image/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$project/requirements/server.txt"
quiet "$place/image/bin/pip" install -q --disable-pip-version-check --no-deps "$wheel"
quiet env QUIETSWAP_NODE__URLS=http://127.0.0.1:9 QUIETSWAP_STORAGE__URL=postgresql://u@127.0.0.1/d \
    QUIETSWAP_STORAGE__REDIS_URL=redis://127.0.0.1 QUIETSWAP_OBSERVE__OTLP_ENDPOINT=http://127.0.0.1:4318 \
    "$place/image/bin/quietswap" serve --check
echo "-- each extra present"
quiet "$place/venv/bin/pip" install -q --disable-pip-version-check "$wheel[all]"
must_say "PostgreSQL" env QUIETSWAP_STORAGE__URL=postgresql://u@127.0.0.1:9/d "$quietswap" migrate
echo "-- the sandbox"
must_say "quietswap sandbox --install" "$quietswap" demo
quiet "$quietswap" sandbox --install
quiet "$quietswap" demo
