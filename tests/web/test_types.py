"""The page's TypeScript agrees with the types that the OpenAPI document gives."""

import shutil
import subprocess
from pathlib import Path

import msgspec

from tests.contract import DOCUMENT
from tests.waiting import LONG_S
from tests.web.test_assets import ROOT, SOURCES, needs

GENERATOR = ROOT / "tests" / "generated_clients" / "typescript" / "node_modules"


def test_the_sources_have_the_types_of_the_interface(tmp_path: Path) -> None:
    node = needs("typescript")
    document = tmp_path / "openapi.json"
    document.write_bytes(msgspec.json.encode(DOCUMENT))
    shutil.copytree(SOURCES / "src", tmp_path / "src", ignore=shutil.ignore_patterns("schema.ts"))
    shutil.copy(SOURCES / "tsconfig.json", tmp_path)
    (tmp_path / "node_modules").symlink_to(SOURCES / "node_modules")
    generate = GENERATOR / "openapi-typescript" / "bin" / "cli.js"
    check = SOURCES / "node_modules" / "typescript" / "bin" / "tsc"
    for command in (
        [node, generate, document, "-o", tmp_path / "src" / "schema.ts"],
        [node, check, "--noEmit", "-p", tmp_path],
    ):
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=LONG_S, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
