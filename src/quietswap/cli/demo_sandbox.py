"""The demo's sandbox: a child process `quietswap sandbox --json` that is always stopped."""

import contextlib
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import IO

import msgspec

from quietswap.cli.interrupts import signals_as_ctrl_c
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


@contextlib.contextmanager
def running_sandbox(block_time: float, *options: str) -> Iterator[SandboxInfo]:
    """Run a sandbox, with more of its `options`, during the `with` block. Raises SandboxFailed.

    SIGTERM and SIGHUP end the block like Ctrl-C, so that the sandbox is always stopped. It is
    killed, with its children, if it does not end in time.
    """
    with signals_as_ctrl_c(), tempfile.TemporaryFile() as errors:
        running = subprocess.Popen(  # noqa: S603  our own command line
            [*_COMMAND, "--block-time", str(block_time), *options],
            stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL,
            preexec_fn=die_with_parent(), start_new_session=True,  # noqa: PLW1509  no threads yet
        )  # fmt: skip
        assert running.stdout is not None
        with running.stdout as output:
            try:
                yield _info(running, output, errors)
            finally:
                _stop(running)


def _stop(running: "subprocess.Popen[bytes]") -> None:
    running.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(_STOP_SECONDS)
    running.kill()  # nothing where it has ended
    running.wait()


def _info(running: "subprocess.Popen[bytes]", output: IO[bytes], errors: IO[bytes]) -> SandboxInfo:
    """Return what the sandbox prints in time. Raises SandboxFailed."""
    is_readable, _, _ = select.select([output], [], [], _READY_SECONDS)
    try:
        return msgspec.json.decode(output.readline() if is_readable else b"", type=SandboxInfo)
    except msgspec.DecodeError as error:
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(_STOP_SECONDS)  # it may close its output before it says why
        errors.seek(0)
        text = errors.read()[-600:].decode("utf-8", "replace").strip().removeprefix("Error: ")
        raise SandboxFailed(f"the sandbox did not start: {text or 'no message'}") from error
