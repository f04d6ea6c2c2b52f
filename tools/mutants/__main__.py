"""Judge a seeded sample of mutants of quotes, orders, their like and the client's flows."""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tools.mutants import report
from tools.mutants.make import Mutant, drawn, mutants
from tools.mutants.run import Recording, RunFailed, Workbench, workbench

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
KEPT = ROOT / "build" / "mutants"

_OTHER = (
    "tests/test_worker.py",
    "tests/storage/test_keep_house.py",
    "tests/storage/test_web_sessions.py",
)
_FEATURES = (
    *("quoting", "orders", "relays", "routers", "tokens", "wallet_rpc", "clients", "events"),
    *("webhooks", "operators"),
)
_RULES = (*(f"tests/{feature}" for feature in _FEATURES), *_OTHER)
AREAS = {
    **dict.fromkeys(("quoting", "orders", "routers", "tokens", "webhooks", "wallet_rpc"), _RULES),
    "client/flows": ("tests/client",),
}
"""The folders of the package, and where the tests are that belong to each."""
BOUND_S, PATIENCE = 60, 10
"""The time limit of a mutant: seconds, and a multiple of the recorded time of its tests."""


def modules(area: str) -> list[str]:
    """Return the modules of an area as paths below src, without the HTTP of a folder."""
    found = (SOURCE / "quietswap" / area).rglob("*.py")
    rules = (path for path in found if path.name != "http.py")
    return sorted(str(path.relative_to(SOURCE)) for path in rules)


def chosen(args: argparse.Namespace) -> Iterator[tuple[str, Mutant]]:
    """Yield the mutants to judge with their area: those of one module, or a sample."""
    for area in AREAS:
        if args.module is None:
            found = drawn(SOURCE, modules(area), args.mutants // len(AREAS), args.seed)
        else:
            module, _, line = args.module.partition(":")
            found = [
                one
                for path in modules(area)
                if path.endswith(module)
                for one in mutants(SOURCE, path)
                if not line or int(line) in one.lines
            ]
        yield from ((area, one) for one in found)


def recording(bench: Workbench) -> Recording:
    """Return the recording of all tests; the last one, if neither package nor tests changed."""
    digest = hashlib.sha256()
    for folder in (SOURCE / "quietswap", ROOT / "tests"):
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    kept = KEPT / f"recording-{digest.hexdigest()[:16]}.json"
    if kept.exists():
        return Recording(**json.loads(kept.read_text("utf-8")))
    print("recording which test runs which line (two minutes)", flush=True)
    recorded = bench.record(sorted({path for paths in AREAS.values() for path in paths}))
    KEPT.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(asdict(recorded)), "utf-8")
    return recorded


def judged(bench: Workbench, args: argparse.Namespace) -> Iterator[report.Judged]:
    """Judge the mutants one after the other."""
    recorded, known = recording(bench), report.survivors()
    for area, mutant in chosen(args):
        tests = recorded.tests(mutant, AREAS[area])
        bound_s = BOUND_S + PATIENCE * sum(recorded.seconds[test] for test in tests)
        verdict = bench.judge(mutant, tests, bound_s)
        row = next((one for one in known if one.is_of(mutant)), None)
        yield report.Judged(area, mutant, verdict, row)


def main() -> int:
    """Print each mutant and the figures; 1 if too few are killed, 2 if tests fail unchanged."""
    parser = argparse.ArgumentParser(prog="tools.mutants", description=__doc__)
    parser.add_argument("--mutants", type=int, default=90, help="size of the sample")
    parser.add_argument("--seed", type=int, default=2026, help="the order of the sample")
    parser.add_argument("--module", help="all mutants of a module, or PATH:LINE, and no sample")
    parser.add_argument("--page", type=Path, help="write the result there")
    args = parser.parse_args()
    found: list[report.Judged] = []
    with workbench(ROOT, SOURCE) as bench:
        try:
            for one in judged(bench, args):
                found.append(one)
                print(report.line(one), flush=True)
        except RunFailed as error:
            print(f"{bench.output()[-4000:]}\n{error}", file=sys.stderr)
            return 2
    print(report.summary(found))
    if args.page is not None:
        args.page.write_text(report.page(found, seed=args.seed), "utf-8")
    return 0 if report.share(found) >= report.ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
