"""What `make dist` says a release is made of: pinned and bundled packages, with licences."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.deploy.files import ROOT

UNDECLARED = {"protobuf", "pyreqwest"}
"""Their licence is a file of the package alone."""


@pytest.fixture(scope="module")
def stem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stem = tmp_path_factory.mktemp("dist") / "quietswap"
    subprocess.run(["tools/sbom.sh", sys.executable, stem], cwd=ROOT, check=True)
    return stem


def components(file: Path) -> dict[tuple[str, str], bool]:
    """Return whether each package, by name and version, has a licence."""
    bill = json.loads(file.read_text("utf-8"))
    return {
        (canonicalize_name(each["name"]), each["version"]): bool(each.get("licenses"))
        for each in bill["components"]
    }


def test_every_pinned_package_of_this_system_is_there_with_a_licence(stem: Path) -> None:
    text = (ROOT / "requirements" / "runtime.txt").read_text("utf-8")
    pins = re.findall(r"^([\w.-]+)==(\S+) \\$", text, re.M)
    listed = components(stem.with_name("quietswap.cdx.json"))
    assert len(pins) > 50
    for name, version in pins:
        assert listed[canonicalize_name(name), version] or name in UNDECLARED, name


def test_every_package_in_the_page_is_there_with_a_licence(stem: Path) -> None:
    imported = {
        match.partition("/")[0]
        for source in (ROOT / "web/src").rglob("*.ts*")
        for match in re.findall(r"from '([^.'][^']*)'", source.read_text("utf-8"))
    }
    lock = json.loads((ROOT / "web/package-lock.json").read_text("utf-8"))["packages"]
    listed = components(stem.with_name("quietswap-web.cdx.json"))
    assert imported
    assert listed.keys() == {(name, lock[f"node_modules/{name}"]["version"]) for name in imported}
    assert all(listed.values())
