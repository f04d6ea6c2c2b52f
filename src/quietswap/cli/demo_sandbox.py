"""The demo's sandbox: `quietswap sandbox --json` as a process of its own, always stopped."""

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import msgspec

from quietswap.sandbox.anvil import die_with_parent

_COMMAND = (sys.executable, "-m", "quietswap", "sandbox", "--json")
_READY_SECONDS = 30.0
_STOP_SECONDS = 15.0


class SandboxFailed(Exception):
    """The sandbox did not start; the message carries its last words."""


class Wallet(msgspec.Struct, frozen=True, rename="camel"):
    """A funded account."""

    address: str
    private_key: str


class Town(msgspec.Struct, frozen=True, rename="camel"):
    """What the sandbox says about itself in its JSON line."""

    base_url: str
    api_key: str
    rpc_url: str
    control_url: str
    wallets: tuple[Wallet, ...]
    tokens: dict[str, str]
    venues: dict[str, str]
    settings_file: str


@dataclass(frozen=True, slots=True)
class _Process:
    running: "subprocess.Popen[bytes]"
    errors: IO[bytes]

    def first_line(self) -> bytes:
        """Return the line of readiness; empty when it never came."""
        lines: list[bytes] = []
        assert self.running.stdout is not None
        reader = threading.Thread(target=_read_line, args=(self.running.stdout, lines), daemon=True)
        reader.start()
        reader.join(_READY_SECONDS)
        return lines[0] if lines else b""

    def last_words(self) -> str:
        self.errors.seek(0)
        return self.errors.read()[-600:].decode("utf-8", "replace").strip() or "no message"

    def stop(self) -> None:
        """End it in order; what does not listen is killed, and its children with it."""
        if self.running.poll() is None:
            self.running.terminate()
        try:
            self.running.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.running.kill()
            self.running.wait()
        if self.running.stdout is not None:
            self.running.stdout.close()


def _read_line(stream: IO[bytes], lines: list[bytes]) -> None:
    lines.append(stream.readline())


@contextlib.contextmanager
def running_sandbox(block_time: float) -> Iterator[Town]:
    """Run a sandbox for the length of the block. Raises SandboxFailed.

    SIGTERM ends the block as Ctrl-C does, so that the sandbox is stopped in any case.
    """
    before = signal.signal(signal.SIGTERM, _interrupt)
    with tempfile.TemporaryFile() as errors:
        running = subprocess.Popen(  # noqa: S603  our own command line
            [*_COMMAND, "--block-time", str(block_time)],
            stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL,
            preexec_fn=die_with_parent(), start_new_session=True,  # noqa: PLW1509  no threads yet
        )  # fmt: skip
        process = _Process(running, errors)
        try:
            yield _town(process)
        finally:
            process.stop()
            signal.signal(signal.SIGTERM, before)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _town(process: _Process) -> Town:
    line = process.first_line()
    try:
        return msgspec.json.decode(line, type=Town)
    except msgspec.DecodeError as error:
        raise SandboxFailed(f"the sandbox did not start: {process.last_words()}") from error
