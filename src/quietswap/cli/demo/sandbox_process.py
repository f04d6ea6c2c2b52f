"""The demo's sandbox: a child process `quietswap sandbox --json` that is always stopped."""

import contextlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import msgspec

from quietswap.cli.termination import signals_as_ctrl_c
from quietswap.sandbox.chain.anvil import die_with_parent

_COMMAND = (sys.executable, "-m", "quietswap", "sandbox", "--json", "--free-ports")
_READY_SECONDS = 90.0
_STOP_SECONDS = 15.0


class SandboxFailed(Exception):
    """The sandbox did not start; the message has the end of its error output."""


class FundedAccount(msgspec.Struct, frozen=True, rename="camel"):
    """Address and private key of an account with ETH and tokens."""

    address: str
    private_key: str


class SandboxInfo(msgspec.Struct, frozen=True, rename="camel"):
    """The JSON line that the sandbox prints when it is ready."""

    base_url: str
    api_key: str
    rpc_url: str
    control_url: str
    wallets: tuple[FundedAccount, ...]
    tokens: dict[str, str]
    venues: dict[str, str]
    settings_file: str


@dataclass(frozen=True, slots=True)
class _Process:
    running: "subprocess.Popen[bytes]"
    errors: IO[bytes]

    def first_line(self) -> bytes:
        """Return the JSON line of the sandbox; empty if there is none in time."""
        lines: list[bytes] = []
        assert self.running.stdout is not None
        reader = threading.Thread(target=_read_line, args=(self.running.stdout, lines), daemon=True)
        reader.start()
        reader.join(_READY_SECONDS)
        return lines[0] if lines else b""

    def error_output(self) -> str:
        """Return the end of the error output. It may come after the end of the standard output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.running.wait(_STOP_SECONDS)
        self.errors.seek(0)
        text = self.errors.read()[-600:].decode("utf-8", "replace").strip()
        return text.removeprefix("Error: ") or "no message"

    def stop(self) -> None:
        """Terminate the process; kill it and its children if it does not end in time."""
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
def running_sandbox(block_time: float, *options: str) -> Iterator[SandboxInfo]:
    """Run a sandbox, with more of its `options`, during the `with` block. Raises SandboxFailed.

    SIGTERM and SIGHUP end the block like Ctrl-C, so that the sandbox is always stopped.
    """
    with signals_as_ctrl_c(), tempfile.TemporaryFile() as errors:
        running = subprocess.Popen(  # noqa: S603  our own command line
            [*_COMMAND, "--block-time", str(block_time), *options],
            stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL,
            preexec_fn=die_with_parent(), start_new_session=True,  # noqa: PLW1509  no threads yet
        )  # fmt: skip
        process = _Process(running, errors)
        try:
            yield _info(process)
        finally:
            process.stop()


def _info(process: _Process) -> SandboxInfo:
    line = process.first_line()
    try:
        return msgspec.json.decode(line, type=SandboxInfo)
    except msgspec.DecodeError as error:
        raise SandboxFailed(f"the sandbox did not start: {process.error_output()}") from error
