"""The anvil binary and the public contract artifacts, read from npm's `node_modules`.

In the project `npm ci` installs the packages, elsewhere `quietswap sandbox --install`: those of
`npm_packages/`, pinned, into the user's cache. Uniswap's artifacts are GPL. They stay in
`node_modules` and are never copied.
"""

import contextlib
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

_HERE = Path(__file__).resolve()
_PINNED = _HERE.parent / "npm_packages"
_FILES = ("package.json", "package-lock.json")
_OLDEST_NODE = 20
_COMMAND = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=http")
_INSTALL = "run `quietswap sandbox --install` (in a clone of the project: `npm ci`)"
_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


class MissingPackage(Exception):
    """The binary or an artifact is not installed; the message names the command to run."""


def _roots() -> Iterator[Path]:
    if root := os.environ.get("QUIETSWAP_PROJECT_ROOT"):
        yield Path(root)
    yield from _HERE.parents[2:4]
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


class InstallFailed(Exception):
    """Node or npm is missing or too old, or npm failed; the message says which and what to do."""


@cache
def install_folder() -> Path:
    """Return the folder for the packages of this release: another lock file, another folder."""
    lock = hashlib.sha256((_PINNED / "package-lock.json").read_bytes()).hexdigest()
    return cache_folder() / f"sandbox-{lock[:12]}"


def cache_folder() -> Path:
    """Return the project's folder below XDG_CACHE_HOME, by default `~/.cache`.

    https://specifications.freedesktop.org/basedir-spec/latest/
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "quietswap"


def is_installed() -> bool:
    return (install_folder() / "node_modules").is_dir()


def package_count() -> int:
    """Return how many packages npm installs at most: one of the platforms' binaries."""
    lock = msgspec.json.decode((_PINNED / "package-lock.json").read_bytes())
    packages = [name for name, one in lock["packages"].items() if name and "os" not in one]
    return len(packages) + 1


def install(on_package: Callable[[], object]) -> Path:
    """Install the packages and return their folder; `on_package` is called for each download.

    The folder appears when it is complete: a process that is stopped leaves nothing half done.
    Raises InstallFailed.
    """
    npm = _npm()
    final = install_folder()
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=final.parent, prefix=".partial-") as name:
            folder = Path(name)
            for file in _FILES:
                shutil.copyfile(_PINNED / file, folder / file)
            _run(npm, folder, on_package)
            with contextlib.suppress(OSError):  # another process was first
                folder.rename(final)
                folder.mkdir()  # the context manager deletes it
    except OSError as error:
        raise InstallFailed(f"{final.parent} cannot be written: {error.strerror}") from error
    if not is_installed():
        raise InstallFailed(f"{final} exists and is not complete: delete it and try again")
    return final


def _npm() -> str:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise InstallFailed(
            f"Node {_OLDEST_NODE} or newer with npm is not on the PATH: install it "
            "(https://nodejs.org), then run `quietswap sandbox --install` again"
        )
    version = subprocess.run(
        [node, "--version"], capture_output=True, text=True, check=False
    ).stdout
    major = version.strip().removeprefix("v").partition(".")[0]
    if not major.isdecimal() or int(major) < _OLDEST_NODE:
        raise InstallFailed(
            f"Node {version.strip() or 'of unknown version'} is too old: the sandbox needs "
            f"{_OLDEST_NODE} or newer"
        )
    return npm


def _run(npm: str, folder: Path, on_package: Callable[[], object]) -> None:
    lines: list[str] = []
    with subprocess.Popen(
        [npm, *_COMMAND], cwd=folder, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stderr
        for line in process.stderr:
            if ".tgz " in line:
                on_package()
            if line.startswith("npm error"):
                lines.append(line.removeprefix("npm error").strip())
    if process.returncode:
        output = " ".join(line for line in lines if line)[:300]
        raise InstallFailed(
            f"npm failed with exit code {process.returncode}: {output or 'no message'}"
        )
