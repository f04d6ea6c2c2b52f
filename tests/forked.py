"""The `quietswap` command as a process of its own that does not import what another one has.

A start of `quietswap serve` takes 0.6 s of CPU, of which 0.4 s are imports, and the tests start it
a hundred times. The standard library's fork server imports once and forks a ready process for each
command, with its own arguments, environment, streams and exit code.

Services with several workers cannot be started so: prometheus_client decides at its import whether
processes share their metrics (service/server/start_checks.py). Tests of the start itself, of the
installed package and of what the documentation says to type start Python anew.
"""

import atexit
import fcntl
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from tests.forked_children import fork_what_is_started
from tests.waiting import LONG_S

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["tests.preloaded"])


@dataclass(frozen=True, slots=True)
class _Start:
    """What a process is told; the streams are duplicates of the file descriptors 0 to 2."""

    words: Sequence[str]
    variables: Mapping[str, str]
    folder: str
    streams: Sequence[Connection]
    new_session: bool


class Forked:
    """A running command, with the part of subprocess.Popen's interface that the tests use."""

    def __init__(
        self,
        words: Sequence[str],
        variables: Mapping[str, str],
        *,
        stdin: int | None = None,
        stdout: int | None = None,
        stderr: int | None = None,
        folder: Path | None = None,
        new_session: bool = False,
    ) -> None:
        """Start `quietswap` with the arguments `words`.

        The streams are file descriptors; without one, nothing is read or what is written is lost.
        """
        with Path(os.devnull).open("r+b") as null:
            numbers = [null.fileno() if one is None else one for one in (stdin, stdout, stderr)]
            streams = [Connection(os.dup(number)) for number in numbers]
        where = str(folder or Path.cwd())
        start = _Start(list(words), dict(variables), where, streams, new_session)
        self._process = _context.Process(target=_run, args=(start,))
        self._process.start()
        for stream in streams:
            stream.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended. Raises subprocess.TimeoutExpired."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("quietswap", timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


def without_settings() -> dict[str, str]:
    """Return this process's environment without settings of the service or a client."""
    return {name: text for name, text in os.environ.items() if "QUIETSWAP" not in name}


def run(
    words: Sequence[str],
    variables: Mapping[str, str],
    *,
    typed: str = "",
    folder: Path | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run `quietswap` with the arguments `words` to its end, `typed` on its standard input.

    A first word that ends in `.py` is a script, run as `python` would run it. Raises
    subprocess.TimeoutExpired; the process is then killed.
    """
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        stdin.write(typed.encode())
        stdin.seek(0)
        process = Forked(
            words, variables, stdin=stdin.fileno(), stdout=stdout.fileno(),
            stderr=stderr.fileno(), folder=folder,
        )  # fmt: skip
        try:
            code = process.wait(LONG_S)
        finally:
            process.send_signal(signal.SIGKILL)
        for stream in (stdout, stderr):
            stream.seek(0)
        out, err = stdout.read().decode(), stderr.read().decode()
    return subprocess.CompletedProcess(["quietswap", *words], code, out, err)


def _run(start: _Start) -> None:
    """Become `python -m quietswap`, in the forked process."""
    streams = [stream.fileno() for stream in start.streams]
    main = partial(_main, start.words)
    _become(main, start.variables, start.folder, streams, start.new_session)


def _become(
    main: Callable[[], None], variables: Mapping[str, str], folder: str, streams: Sequence[int],
    new_session: bool,
) -> None:  # fmt: skip
    """Be a new program in this forked process: call `main` with its streams and variables."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    if new_session:
        os.setsid()
        if os.isatty(0):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C that is typed on it is a signal
    for stream in {*streams} - {0, 1, 2}:
        os.close(stream)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    multiprocessing.set_start_method("fork", force=True)  # the default of a new interpreter
    try:
        main()
    finally:
        atexit._run_exitfuncs()  # multiprocessing leaves them out


def _main(words: Sequence[str]) -> None:
    script = Path(words[0])
    if script.suffix == ".py":
        sys.argv = list(words)
        sys.path.insert(0, str(script.resolve().parent))
        runpy.run_path(words[0], run_name="__main__")
        return
    if words[0] in ("demo", "sandbox"):
        fork_what_is_started(_become)
    sys.argv = ["quietswap", *words]
    from quietswap.__main__ import main

    main()
