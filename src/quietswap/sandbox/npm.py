"""Where the chain binary and the public contract artifacts come from: npm's `node_modules`.

Nothing is downloaded here. `npm ci` in the project puts the packages of `package.json` in place;
the artifacts of Uniswap are GPL and are only ever read from there.
"""

import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

_HERE = Path(__file__).resolve()
_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


class MissingPackage(Exception):
    """The binary or an artifact is not installed; the message says what to run."""


def _roots() -> Iterator[Path]:
    if root := os.environ.get("QUIETSWAP_PROJECT_ROOT"):
        yield Path(root)
    yield from _HERE.parents[2:4]
    yield Path.cwd()


def find_anvil() -> str:
    """Return the path of an anvil binary.

    Looked for in this order: the environment variable QUIETSWAP_ANVIL, the platform's package of
    `@foundry-rs/anvil` under the project or the working directory, the PATH. The package's own
    launcher is not used: it needs a postinstall script that `npm ci --ignore-scripts` skips.
    Raises MissingPackage.
    """
    if chosen := os.environ.get("QUIETSWAP_ANVIL"):
        if os.access(chosen, os.X_OK):
            return chosen
        raise MissingPackage(f"QUIETSWAP_ANVIL={chosen} is not an executable file")
    machine = _ARCHITECTURES.get(platform.machine().lower(), "unknown")
    package = f"anvil-{platform.system().lower()}-{machine}"
    for root in _roots():
        binary = root / "node_modules" / "@foundry-rs" / package / "bin" / "anvil"
        if os.access(binary, os.X_OK):
            return str(binary)
    if found := shutil.which("anvil"):
        return found
    raise MissingPackage(
        "the sandbox needs anvil: run `npm ci` in the project, or set QUIETSWAP_ANVIL"
    )


def read_artifact(path: str) -> dict[str, Any]:
    """Return the JSON of `node_modules/<path>`. Raises MissingPackage."""
    for root in _roots():
        file = root / "node_modules" / path
        if file.is_file():
            artifact: dict[str, Any] = msgspec.json.decode(file.read_bytes())
            return artifact
    raise MissingPackage(f"the sandbox needs {path}: run `npm ci` in the project")
