"""Show which small changes of a module no test notices.

`python tools/mutants.py rules/safety/loss.py tests/quoting tests/client`: mutmut changes one
function of the module at a time and runs those of the tests that run it. Ends with 1 if fewer
than nine in ten changes make a test fail, or if the tests fail without a change.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_COPY = ROOT / "mutants"  # where mutmut changes the package and runs the tests
_SETTINGS = """[mutmut]
source_paths = src
only_mutate = src/quietswap/{module}
pytest_add_cli_args_test_selection =
    {tests}
also_copy =
    clients
    deploy
    docs
    examples
    tools
    web
    CONTRIBUTING.md
    README.md
"""
_ENOUGH = 0.9


def mutmut(*words: str) -> None:
    """Run mutmut. Raises CalledProcessError, also when tests fail without a change."""
    subprocess.run([sys.executable, "-m", "mutmut", *words], cwd=ROOT, check=True)


def main() -> int:
    """Judge the module's mutants, and print those that live."""
    module, *tests = sys.argv[1:] or [""]
    if not (ROOT / "src" / "quietswap" / module).is_file() or not tests:
        sys.exit(__doc__)
    _COPY.mkdir(exist_ok=True)
    modules, settings = _COPY / "node_modules", ROOT / "setup.cfg"
    if not modules.is_symlink():
        modules.symlink_to(ROOT / "node_modules")
    settings.write_text(_SETTINGS.format(module=module, tests="\n    ".join(tests)), "utf-8")
    try:
        for words in (("run",), ("results",), ("export-cicd-stats",)):
            mutmut(*words)
    finally:
        settings.unlink()
    stats = json.loads((_COPY / "mutmut-cicd-stats.json").read_text("utf-8"))
    killed = stats["killed"] + stats["timeout"] + stats["segfault"] + stats["suspicious"]
    judged = killed + stats["survived"] + stats["no_tests"]
    print(f"{killed} of {judged} mutants make a test fail")
    return int(killed < _ENOUGH * judged)


if __name__ == "__main__":
    sys.exit(main())
