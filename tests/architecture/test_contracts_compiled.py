"""The compiled artifact is what its sources compile to, byte for byte."""

import subprocess
from pathlib import Path

from quietswap.sandbox.contracts import artifacts

ROOT = Path(__file__).parents[2]
CONTRACTS = Path(artifacts.__file__).parent


def test_the_sources_compile_to_the_committed_artifact(tmp_path: Path) -> None:
    fresh = tmp_path / "artifacts.json"
    compiler = ROOT / "tools" / "compile_contracts.mjs"
    done = subprocess.run(
        ["node", "--liftoff-only", str(compiler), str(fresh)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert fresh.read_bytes() == (CONTRACTS / "artifacts.json").read_bytes()


def test_every_source_is_ours_and_mit() -> None:
    sources = sorted(CONTRACTS.glob("*.sol"))
    assert sources
    for source in sources:
        assert source.read_text().startswith("// SPDX-License-Identifier: MIT\n"), source.name
