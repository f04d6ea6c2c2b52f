"""Run tests on a copy of the package: record their lines, then judge one mutant at a time."""

import compileall
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from py_compile import PycInvalidationMode

from tools.mutants.make import Mutant

_PLUGIN = "tools.mutants.plugin"
_MEMORY = 4 * 2**30
_FAILED = {1, 2, 3, 4}  # 2 to 4: the change breaks an import of the tests


class Verdict(Enum):
    """What the tests say of a mutant."""

    KILLED = "killed"
    HUNG = "hung"  # killed: its tests do not end, and end without the change
    SURVIVED = "survived"
    NOT_RUN = "not run"  # survived: no test runs the line


class RunFailed(Exception):
    """Tests fail, or do not end, without any mutant."""


@dataclass(frozen=True)
class Recording:
    """Seconds of each test, and for each module the tests of each line."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def tests(self, mutant: Mutant, folders: Sequence[str]) -> list[str]:
        """Return the tests below `folders` that run a changed line, in the recorded order.

        A line that runs at import belongs to no test: then all tests of each file that runs the
        module are returned, and those of all files if there is none.
        """
        names = list(self.seconds)
        lines = self.lines.get(mutant.module, {})
        wanted = {names[test] for line in mutant.lines for test in lines.get(str(line), ())}
        if mutant.at_import:
            inside = {_file(names[test]) for tests in lines.values() for test in tests}
            files = {file for file in inside if file.startswith(tuple(folders))}
            wanted = {name for name in names if not files or _file(name) in files}
        return [name for name in names if name in wanted and name.startswith(tuple(folders))]


def _file(test: str) -> str:
    return test.partition("::")[0]


class Workbench:
    """A copy of the package, of which one module at a time is changed."""

    def __init__(self, root: Path, source: Path, folder: Path) -> None:
        self._root, self._source, self._folder = root, source, folder
        self._copy = folder / "src"
        shutil.copytree(source, self._copy, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(
            self._copy, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH
        )

    def record(self, paths: Sequence[str]) -> Recording:
        """Run the tests at `paths` on the package as it is; raise RunFailed if one fails."""
        code = self._pytest({"record": str(self._copy)}, paths, bound_s=None)
        if code:
            raise RunFailed(f"pytest ends with {code} on the package as it is")
        recorded = json.loads((self._folder / "recording.json").read_text("utf-8"))
        return Recording(recorded["seconds"], recorded["lines"])

    def judge(self, mutant: Mutant, tests: Sequence[str], bound_s: float) -> Verdict:
        """Return what `tests` say of the mutant.

        A mutant whose tests do not end within `bound_s` is killed only if the same tests end within
        it on the package as it is; otherwise the machine is too slow, and RunFailed is raised.
        """
        if not tests:
            return Verdict.NOT_RUN
        paths = list(dict.fromkeys(_file(test) for test in tests))
        with self._changed(mutant):
            code = self._pytest({"tests": list(tests)}, paths, bound_s=bound_s)
        if code == 0:
            return Verdict.SURVIVED
        if code in _FAILED:
            return Verdict.KILLED
        if code is not None:
            raise RunFailed(f"pytest ends with {code} on {mutant.module}:{mutant.line}")
        if self._pytest({"tests": list(tests)}, paths, bound_s=bound_s) != 0:
            raise RunFailed(f"tests of {mutant.module} do not pass in {bound_s:.0f} s unchanged")
        return Verdict.HUNG

    @contextmanager
    def _changed(self, mutant: Mutant) -> Iterator[None]:
        path = self._copy / mutant.module
        path.write_text(mutant.source(), "utf-8")
        try:
            yield
        finally:
            shutil.copyfile(self._source / mutant.module, path)

    def _pytest(self, task: object, paths: Sequence[str], *, bound_s: float | None) -> int | None:
        """Return pytest's exit code, or None if the bound ended it."""
        (self._folder / "task.json").write_text(json.dumps(task), "utf-8")
        command = [
            sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", _PLUGIN,
            "-o", "timeout=0", *paths,
        ]  # fmt: skip
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join((str(self._copy), os.environ.get("PYTHONPATH", ""))),
            "PYTHONDONTWRITEBYTECODE": "1",
            "QUIETSWAP_MUTANTS": str(self._folder),
        }
        with (
            (self._folder / "output.txt").open("wb") as output,
            subprocess.Popen(
                command, cwd=self._root, env=environment, stdout=output, stderr=output,
                start_new_session=True, preexec_fn=_prepare,  # noqa: PLW1509 - no threads here
            ) as process,
        ):  # fmt: skip
            try:
                return process.wait(bound_s)
            except subprocess.TimeoutExpired:
                return None
            finally:
                _end_group(process.pid)

    def output(self) -> str:
        """Return what the last pytest printed."""
        return (self._folder / "output.txt").read_text("utf-8", "replace")


def _prepare() -> None:
    """Bound the memory of an endless loop; let tests of Ctrl-C work in a background job."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))


def _end_group(leader: int) -> None:
    """End pytest and the processes that its tests left."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


@contextmanager
def workbench(root: Path, source: Path) -> Iterator[Workbench]:
    """Yield a workbench in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        yield Workbench(root, source, Path(folder))
