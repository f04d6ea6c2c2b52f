"""Builds geth with Go into the user's cache, at the sandbox's version.

Sources and build go into a folder beside it, which is deleted: of 1.6 GB the binary's 90 MB stay.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from quietswap.sandbox.chain import geth

_OLDEST_GO = (1, 24)


def main() -> str | None:
    """Return why geth is missing; None when it is there."""
    if os.environ.get("QUIETSWAP_GETH") or geth.installed_geth().exists():
        return None
    go = shutil.which("go")
    if go is None:
        return _missing("Go is not on the PATH")
    answer = subprocess.run([go, "version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"go(\d+)\.(\d+)", answer)
    if version is None or (int(version[1]), int(version[2])) < _OLDEST_GO:
        return _missing(f"this Go is too old ({answer.strip() or 'no version'})")
    return _build(go)


def _missing(why: str) -> str:
    oldest = ".".join(map(str, _OLDEST_GO))
    return (
        f"geth {geth.VERSION} is not installed, and {why}: install Go {oldest} or newer, or set"
        " QUIETSWAP_GETH"
    )


def _build(go: str) -> str | None:
    binary = geth.installed_geth()
    binary.parent.parent.mkdir(parents=True, exist_ok=True)
    print(f"building geth {geth.VERSION} with Go (first run only, three minutes on two cores)")
    with tempfile.TemporaryDirectory(dir=binary.parent.parent, prefix=".partial-") as folder:
        places = {name: f"{folder}/{name.lower()}" for name in ("GOPATH", "GOCACHE", "GOBIN")}
        flags = f"{os.environ.get('GOFLAGS', '')} -modcacherw".strip()
        done = subprocess.run(
            [go, "install", f"{geth.MODULE}@v{geth.VERSION}"],
            env=os.environ | places | {"GOFLAGS": flags},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            return f"go install failed: {done.stderr.strip()[-500:]}"
        binary.parent.mkdir(exist_ok=True)
        (Path(places["GOBIN"]) / "geth").replace(binary)
    return None


if __name__ == "__main__":
    sys.exit(main())
