"""The page's TypeScript agrees with the types that the OpenAPI document gives.

The types are those of the TypeScript client; tests/typescript compares them with the document.
"""

import subprocess

from tests.waiting import LONG_S
from tests.web.test_assets import SOURCES, needs


def test_the_sources_have_the_types_of_the_interface() -> None:
    node = needs("typescript")
    check = SOURCES / "node_modules" / "typescript" / "bin" / "tsc"
    done = subprocess.run(
        [node, check, "--noEmit", "-p", SOURCES],
        capture_output=True,
        text=True,
        timeout=LONG_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
