"""Show which small changes of the code no test notices; the arguments are names of mutants.

mutmut changes one function at a time (`[tool.mutmut]` of pyproject.toml) and runs the tests that
run it. Ends with 1 if fewer than nine in ten changes make a test fail.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
_COPY = ROOT / "mutants"  # where mutmut changes the package and runs the tests
_ENOUGH = 0.9


def mutmut(*words: str) -> None:
    """Run mutmut. Raises CalledProcessError, also when tests fail without a change."""
    subprocess.run([sys.executable, "-m", "mutmut", *words], cwd=ROOT, check=True)


def main() -> int:
    """Judge the mutants whose names match the arguments, and print those that live."""
    _COPY.mkdir(exist_ok=True)
    modules = _COPY / "node_modules"
    if not modules.is_symlink():
        modules.symlink_to(ROOT / "node_modules")
    mutmut("run", *sys.argv[1:])
    mutmut("results")
    mutmut("export-cicd-stats")
    stats = json.loads((_COPY / "mutmut-cicd-stats.json").read_text("utf-8"))
    killed = stats["killed"] + stats["timeout"] + stats["segfault"] + stats["suspicious"]
    judged = killed + stats["survived"] + stats["no_tests"]
    print(f"{killed} of {judged} mutants make a test fail")
    return int(killed < _ENOUGH * judged)


if __name__ == "__main__":
    sys.exit(main())
