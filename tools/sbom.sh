#!/bin/sh
# Write what a release is made of, as CycloneDX with declared licences: `tools/sbom.sh PYTHON STEM`.
# STEM.cdx.json has the packages installed beside PYTHON, STEM-web.cdx.json the npm packages whose code is in the web page.
set -eu
cd "$(dirname "$0")/../web"
../.venv/bin/cyclonedx-py environment "$1" --pyproject ../pyproject.toml --output-reproducible \
    --no-validate --output-file "$2.cdx.json"
npm sbom --sbom-format cyclonedx --omit dev --package-lock-only > "$2-web.cdx.json"
