"""The files of `deploy/` and `.github/` before their linters; each finds a spoilt copy."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY

_WORKFLOWS = "vendor.github-workflows"
LINTERS = {
    "Dockerfile": ("hadolint", "--no-color", "--failure-threshold", "style"),
    "compose.yaml": ("check-jsonschema", "--builtin-schema", "vendor.compose-spec"),
    "kubernetes.yaml": ("kubernetes-validate", "--strict"),
    "ingress.yaml": ("kubernetes-validate", "--strict"),
    "../.github/workflows/ci.yml": ("check-jsonschema", "--builtin-schema", _WORKFLOWS),
    "../.github/workflows/audit.yml": ("check-jsonschema", "--builtin-schema", _WORKFLOWS),
    "../.github/workflows/long.yml": ("check-jsonschema", "--builtin-schema", _WORKFLOWS),
    "../.github/dependabot.yml": ("check-jsonschema", "--builtin-schema", "vendor.dependabot"),
}
"""Each brings its rules and schemas with it and asks nobody."""
SPOILT = {
    "Dockerfile": (
        "COPY requirements/server.txt requirements/runtime.txt requirements/",
        "RUN cd /tmp && sudo true",
    ),
    "compose.yaml": ("restart: unless-stopped", "restarts: sometimes"),
    "kubernetes.yaml": ("replicas: 2", "replica: 2"),
    "ingress.yaml": ("pathType: Exact", "pathtype: Exact"),
    "../.github/workflows/ci.yml": ("timeout-minutes: 60", "timeout: 60"),
    "../.github/workflows/audit.yml": ("timeout-minutes: 15", "timeout: 15"),
    "../.github/workflows/long.yml": ("timeout-minutes: 180", "timeout: 180"),
    "../.github/dependabot.yml": ("interval: weekly", "interval: sometimes"),
}


def lint(name: str, path: Path) -> subprocess.CompletedProcess[str]:
    program, *options = LINTERS[name]
    command = [str(Path(sys.executable).with_name(program)), *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", LINTERS)
def test_its_linter_finds_nothing(name: str) -> None:
    done = lint(name, DEPLOY / name)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", LINTERS)
def test_its_linter_would_find_something(name: str, tmp_path: Path) -> None:
    text = (DEPLOY / name).read_text("utf-8")
    good, bad = SPOILT[name]
    assert good in text
    spoilt = tmp_path / Path(name).name
    spoilt.write_text(text.replace(good, bad), "utf-8")
    assert lint(name, spoilt).returncode != 0
