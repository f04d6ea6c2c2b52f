"""The anvil binary and the public contract artifacts, read from npm's `node_modules`.

Nothing is downloaded here: in the project `npm ci` installs the packages, elsewhere
`quietswap sandbox --install` (`sandbox.npm_packages.install`). Uniswap's artifacts are GPL. They
stay in `node_modules` and are never copied.
"""

import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from quietswap.sandbox.npm_packages.install import install_folder

_HERE = Path(__file__).resolve()
_INSTALL = "run `quietswap sandbox --install` (in a clone of the project: `npm ci`)"
_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


class MissingPackage(Exception):
    """The binary or an artifact is not installed; the message names the command to run."""


def _roots() -> Iterator[Path]:
    if root := os.environ.get("QUIETSWAP_PROJECT_ROOT"):
        yield Path(root)
    yield from _HERE.parents[3:5]
    yield Path.cwd()
    yield install_folder()


def find_anvil() -> str:
    """Return the path of an anvil binary.

    Search order: the environment variable QUIETSWAP_ANVIL; the platform's package of
    `@foundry-rs/anvil` under the project, the working directory or the user's cache; the PATH. The
    package's own launcher is not used, because it needs a postinstall script
    (`npm ci --ignore-scripts`).
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
    raise MissingPackage(f"the sandbox needs anvil: {_INSTALL}, or set QUIETSWAP_ANVIL")


def read_artifact(path: str) -> dict[str, Any]:
    """Return the JSON of `node_modules/<path>`. Raises MissingPackage."""
    for root in _roots():
        file = root / "node_modules" / path
        if file.is_file():
            artifact: dict[str, Any] = msgspec.json.decode(file.read_bytes())
            return artifact
    raise MissingPackage(f"the sandbox needs {path}: {_INSTALL}")
