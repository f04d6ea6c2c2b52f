"""What a forked process starts is forked as well: `tests.forked` for its own children.

A sandbox starts Python twice, for its service and for its keys, and imports again what it has; a
demo starts a sandbox. A helper, forked before the process has any thread, forks each. The new
process becomes a child of the one that asked, as one of `subprocess` is: Linux gives an orphan to
the nearest process that asked for orphans (prctl(2), PR_SET_CHILD_SUBREAPER).
"""

import ctypes
import json
import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

_PARENT_DEATH, _SUBREAPER = 1, 36
_MOST_BYTES = 2**17
Become = Callable[[Callable[[], None], Mapping[str, str], str, Sequence[int], bool], None]
"""Set streams, environment and folder of this process as given, then call the first argument."""


def fork_what_is_started(become: Become) -> None:
    """Let `subprocess` fork each `python -m MODULE` that this process starts from now on.

    On other systems than Linux they start anew.
    """
    if sys.platform != "linux":
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    me = os.getpid()
    if os.fork() == 0:
        ours.close()
        _serve(theirs, me, become)
    theirs.close()
    usual = subprocess.Popen._execute_child  # type: ignore[attr-defined]

    def execute(popen: Any, args: Sequence[str], *rest: Any) -> None:
        if list(args[:2]) != [sys.executable, "-m"]:
            usual(popen, args, *rest)
            return
        _, preexec, _, _, folder, env, _, _, _, *pipes = rest
        stdin, _, _, stdout, _, stderr = pipes[:6]
        request = {
            "words": args[2:], "env": dict(env or os.environ), "folder": folder or str(Path.cwd()),
            "ends": preexec is not None, "session": pipes[11],
        }  # fmt: skip
        streams = [own if pipe == -1 else pipe
                   for own, pipe in enumerate((stdin, stdout, stderr))]  # fmt: skip
        popen.pid = _asked(ours, json.dumps(request).encode(), streams)
        popen._child_created = True
        popen._close_pipe_fds(*pipes[:6])

    subprocess.Popen._execute_child = execute  # type: ignore[attr-defined]


def _asked(helper: socket.socket, request: bytes, streams: list[int]) -> int:
    """Return the process that the helper forked, once it is a child of this one."""
    control = ctypes.CDLL(None).prctl
    control(_SUBREAPER, 1, 0, 0, 0)
    try:
        socket.send_fds(helper, [request], streams)
        return int(helper.recv(_MOST_BYTES))
    finally:
        control(_SUBREAPER, 0, 0, 0, 0)


def _serve(asked: socket.socket, parent: int, become: Become) -> NoReturn:
    """Fork for each request until the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Path(os.devnull).open("r+b") as null:
        for number in range(3):
            os.dup2(null.fileno(), number)
    while True:
        request, streams, _, _ = socket.recv_fds(asked, _MOST_BYTES, 3)
        if not request:
            os._exit(0)
        between = os.fork()
        if between == 0:
            _orphan(asked, json.loads(request), streams, parent, become)
        os.waitpid(between, 0)
        for stream in streams:
            os.close(stream)


def _orphan(
    asked: socket.socket, request: dict[str, Any], streams: list[int], parent: int, become: Become
) -> NoReturn:
    """Fork the process that was asked for, and end: so it gets another parent."""
    between = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == between:
        time.sleep(0.001)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if request["ends"]:
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    asked.send(str(os.getpid()).encode())
    asked.close()
    module, *words = request["words"]

    def main() -> None:
        if words[:1] == ["sandbox"]:
            fork_what_is_started(become)
        sys.argv = [module, *words]
        runpy.run_module(module, run_name="__main__", alter_sys=True)

    place = request["env"], request["folder"], streams, request["session"]
    process = multiprocessing.get_context("fork").Process(target=become, args=(main, *place))
    os._exit(process._bootstrap())  # type: ignore[attr-defined]
