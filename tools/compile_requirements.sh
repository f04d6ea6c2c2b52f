#!/bin/sh
# Pin every dependency with its hashes. No address of an index is recorded.
set -eu
cd "$(dirname "$0")/.."
pin() {
    output=$1; shift
    uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header \
        --no-annotate --no-emit-index-url --no-emit-find-links "$@" -o "$output"
}
pin requirements/dev.txt pyproject.toml --all-extras --group dev
pin requirements/runtime.txt pyproject.toml --all-extras --group build -c requirements/dev.txt
pin requirements/server.txt pyproject.toml --extra postgres --extra redis --extra otel -c requirements/dev.txt
pin requirements/docs.txt --group docs -c requirements/dev.txt
pin requirements/chart.txt --group chart
