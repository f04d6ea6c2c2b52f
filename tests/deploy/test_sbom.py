"""What `make dist` says a release is made of: the SBOM and the licences."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.deploy.files import ROOT


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "tools/sbom.py", folder], cwd=ROOT, check=True)
    return folder


def test_the_sbom_is_cyclonedx(dist: Path) -> None:
    [file] = dist.glob("quietswap-*.cdx.json")
    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(file.read_text("utf-8"))
    assert fault is None, str(fault)[:500]


def test_every_pinned_and_every_bundled_package_is_there_with_a_licence(dist: Path) -> None:
    [file] = dist.glob("quietswap-*.cdx.json")
    components = json.loads(file.read_text("utf-8"))["components"]
    pins = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements/runtime.txt").read_text(), re.M)
    imported = {
        match.partition("/")[0]
        for source in (ROOT / "web/src").rglob("*.ts*")
        for match in re.findall(r"from '([^.'][^']*)'", source.read_text("utf-8"))
    }
    lock = json.loads((ROOT / "web/package-lock.json").read_text("utf-8"))["packages"]
    bundled = {(name, lock[f"node_modules/{name}"]["version"]) for name in imported}
    assert imported
    assert {(each["name"], each["version"]) for each in components} == {*pins, *bundled}
    names = [each["licenses"][0]["license"]["name"] for each in components]
    assert "not declared" not in names
    [file] = dist.glob("quietswap-*.licenses.txt")
    assert len(file.read_text("utf-8").splitlines()) == len(components)


def test_make_dist_writes_both() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "--old-file=.venv/.dev", "dist"], cwd=ROOT, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert "tools/sbom.py dist" in done.stdout
