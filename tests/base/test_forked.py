"""A forked command is one that was started: same streams, exit code, environment and signals."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx
import pytest

from quietswap.sandbox.ports import free_port
from tests import forked, loopback
from tests.waiting import WITHIN_S, wait_until

SECRET = "qs_" + "0f" * 32


def started(
    words: Sequence[str], variables: Mapping[str, str], *, typed: str, folder: Path
) -> "subprocess.CompletedProcess[str]":
    """Run the command by a new interpreter."""
    return subprocess.run(
        [sys.executable, "-m", "quietswap", *words], env=variables, input=typed, cwd=folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--version"], 0),
        (["keys", "list"], 0),
        (["keys", "create", "--secret-stdin", "--json"], 0),
        (["keys", "revoke", "key_0"], 1),
        (["keys", "burn"], 2),
        (["serve", "--check"], 2),
    ],
)
def test_it_says_and_returns_what_a_started_one_does(
    words: list[str], code: int, tmp_path: Path
) -> None:
    """Both run in the folder of the database that their environment names."""
    ends = []
    for run in (forked.run, started):
        folder = tmp_path / run.__name__
        folder.mkdir()
        variables = forked.without_settings() | {"QUIETSWAP_STORAGE__URL": "sqlite:///own.db"}
        done = run(words, variables, typed=SECRET, folder=folder)
        told = [line for line in done.stdout.splitlines() if '"key_' not in line]
        # SQLite removes its -wal and -shm when the last process closes, here or a moment later
        names = {file.name for file in folder.iterdir()}
        made = sorted(name for name in names if not name.endswith(("-wal", "-shm")))
        ends.append((done.returncode, told, done.stderr, made))
    assert ends[0] == ends[1]
    assert ends[0][0] == code


def test_a_service_ends_by_a_signal_of_its_own_group(tmp_path: Path) -> None:
    port = free_port()
    variables = forked.without_settings() | {
        "QUIETSWAP_NODE__URLS": "http://127.0.0.1:9",
        "QUIETSWAP_STORAGE__URL": f"sqlite:///{tmp_path / 'own.db'}",
    }
    file = tmp_path / "log"
    with file.open("wb") as log:
        words = ["serve", "--port", str(port)]
        service = forked.Forked(words, variables, stderr=log.fileno(), new_session=True)
    try:
        wait_until(lambda: b"service_starting" in file.read_bytes())
        with loopback.Client() as client:
            wait_until(lambda: answers(client, port), "the service does not answer")
        assert service.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            service.wait(0.01)
        assert os.getpgid(service.pid) == service.pid
    finally:
        os.killpg(service.pid, signal.SIGKILL)
    assert service.wait(WITHIN_S) == -signal.SIGKILL
    service.terminate()  # of one that has ended: nothing
    assert service.poll() == -signal.SIGKILL


def answers(client: httpx.Client, port: int) -> bool:
    try:
        return client.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
    except httpx.TransportError:
        return False


CHILD = """
import os, sys
print(os.getppid(), "tests.forked" in sys.modules, os.getcwd(), os.environ["WORD"], sys.argv[1:])
print(sys.stdin.read(), file=sys.stderr)
sys.exit(3)
"""
PARENT = """
import os, subprocess, sys
from tests import forked, forked_children
forked_children.fork_what_is_started(forked._become)
sys.path.append(os.environ["FOLDER"])
done = subprocess.run(
    [sys.executable, "-m", "child", "a"], input="typed", capture_output=True, text=True,
    cwd=os.environ["FOLDER"], env={"WORD": "heard"}, check=False,
)
assert done.returncode == 3, done
print(os.getpid(), done.stdout, done.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it starts a new interpreter")
def test_what_a_forked_process_starts_is_forked_and_its_child(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(CHILD)
    done = subprocess.run(
        [sys.executable, "-c", PARENT], env=os.environ | {"FOLDER": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    parent, *told = done.stdout.split()
    assert told == [parent, "True", str(tmp_path), "heard", "['a']", "typed"]
