"""The TypeScript package: its files, its tools, and the process that runs it for the tests."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients" / "typescript"
MODULES = PACKAGE / "node_modules"
BIN = MODULES / ".bin"
INSTALLED = (BIN / "tsc").exists() and (BIN / "esbuild").exists()
NOT_INSTALLED = "the Node packages of clients/typescript are not installed: `make setup-dev` does"
needs_packages = pytest.mark.skipif(not INSTALLED, reason=NOT_INSTALLED)


class Thrown(Exception):
    """An error of the TypeScript client; `fields` are its members, amounts as ints."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(f"{fields['name']}: {fields['message']}")
        self.fields = fields
        self.name: str = fields["name"]


class TypeScript:
    """The client in a Node process; one command at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, method: str, *args: Any, **command: Any) -> dict[str, Any]:
        """Return `result`, `pauses` in s and `events` of a method. Raises Thrown."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = json.dumps({"method": method, "args": args, **command})
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process ended"
        outcome: dict[str, Any] = _ints(json.loads(answer))
        if "error" in outcome:
            raise Thrown(outcome["error"])
        return outcome

    def ask(self, method: str, *args: Any, **command: Any) -> Any:
        """Return the result alone."""
        return self.run(method, *args, **command)["result"]


def big(value: int) -> str:
    """Return an amount as the driver reads a bigint."""
    return f"n:{value}"


def _ints(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _ints(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_ints(each) for each in value]
    if isinstance(value, str) and re.fullmatch(r"n:-?\d+", value):
        return int(value[2:])
    return value


def build(folder: Path) -> None:
    """Translate the sources and the driver into `folder`, without a check of the types."""
    sources = [str(path) for path in sorted((PACKAGE / "src").rglob("*.ts"))]
    subprocess.run(
        [BIN / "esbuild", *sources, f"--outdir={folder / 'built'}", "--format=esm",
         "--log-level=error", f"--outbase={PACKAGE / 'src'}"],
        check=True, cwd=PACKAGE,
    )  # fmt: skip
    (folder / "node_modules").symlink_to(MODULES)
    (folder / "package.json").write_text('{"type": "module"}', "utf-8")
    driver = (Path(__file__).parent / "driver.mjs").read_text("utf-8")
    (folder / "driver.mjs").write_text(driver, "utf-8")


@contextmanager
def running(folder: Path) -> Iterator[TypeScript]:
    """Run the driver for the length of a `with` block."""
    with subprocess.Popen(
        ["node", folder / "driver.mjs"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield TypeScript(process)
    assert process.returncode == 0
