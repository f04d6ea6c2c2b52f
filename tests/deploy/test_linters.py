"""The files of `deploy/` before the linters made for them; each is shown to find a spoilt copy."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY

LINTERS = {
    "Dockerfile": ("hadolint", "--no-color", "--failure-threshold", "style"),
    "compose.yaml": ("check-jsonschema", "--builtin-schema", "vendor.compose-spec"),
    "kubernetes.yaml": ("kubernetes-validate", "--strict"),
}
"""Each brings its rules and schemas with it and asks nobody."""
SPOILT = {
    "Dockerfile": ("COPY requirements/runtime.txt requirements/", "RUN cd /tmp && sudo true"),
    "compose.yaml": ("restart: unless-stopped", "restarts: sometimes"),
    "kubernetes.yaml": ("replicas: 2", "replica: 2"),
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
    spoilt = tmp_path / name
    spoilt.write_text(text.replace(good, bad), "utf-8")
    assert lint(name, spoilt).returncode != 0
