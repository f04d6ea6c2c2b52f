"""The commands on a real terminal: prompts, the moving line, colours, Ctrl-C."""

import json
import os
import pty
import re
import select
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from eth_account import Account

from quietswap.cli.interrupts import signals_as_ctrl_c
from quietswap.rules.orders.order import OrderStatus
from tests.api.scripted_use_cases import ROUTER
from tests.cli.conftest import KEY
from tests.cli.sandbox_process import ROOT
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import ETHER, WALLET, FakeServers, FakeService
from tests.client.test_polling import at
from tests.forked import Forked, without_settings
from tests.waiting import WITHIN_S

SWAP = ("swap", "1", "WETH", "USDC")
_COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9]")


class Terminal:
    """One command on a pseudo-terminal of 80 columns."""

    def __init__(self, words: Sequence[str], env: dict[str, str]) -> None:
        self.text = ""
        self._seen = 0
        self._master, slave = pty.openpty()
        own = {**env, "COLUMNS": "80", "TERM": "xterm-256color"}
        self._process = Forked(
            words, own, stdin=slave, stdout=slave, stderr=slave, folder=ROOT, new_session=True
        )
        os.close(slave)

    def expect(self, text: str) -> None:
        """Read until `text` was shown anew."""
        assert self._came(text, WITHIN_S), f"{text!r} never came:\n{self.text}"

    def _came(self, text: str, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while text not in self.text[self._seen :]:
            if not self._read(until - time.monotonic()):
                return False
        self._seen = self.text.index(text, self._seen) + len(text)
        return True

    def _read(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], max(seconds, 0))[0]:
            return False
        try:
            read = os.read(self._master, 65536)
        except OSError:  # Linux's way to say that the other side is closed
            return False
        self.text += read.decode("utf-8", "replace")
        return bool(read)

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self, shown: str) -> None:
        """Type Ctrl-C until `shown` comes: Python may lose one just before it begins to read."""
        for _ in range(5):
            self.type("\x03")
            if self._came(shown, 10):
                return
        raise AssertionError(f"{shown!r} never came:\n{self.text}")

    def end(self) -> int:
        """Read to the end and return the exit code."""
        while self._read(WITHIN_S):
            pass
        return self._process.wait(WITHIN_S)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        os.close(self._master)


@pytest.fixture
def env(outside: FakeServers, node: FakeChain) -> dict[str, str]:
    node.allowances[ROUTER.lower()] = ETHER
    usual = without_settings()
    usual.pop("NO_COLOR", None)
    return usual | {
        "QUIETSWAP_URL": outside.url,
        "QUIETSWAP_API_KEY": "qs_right",
        "QUIETSWAP_RPC_URL": outside.rpc_url,
    }


def test_a_swap_as_a_person_does_it(
    env: dict[str, str], service: FakeService, tmp_path: Path
) -> None:
    keystore = tmp_path / "wallet.json"
    sealed = Account.encrypt(KEY, "open sesame", kdf="pbkdf2", iterations=10)
    keystore.write_text(json.dumps(sealed), "utf-8")
    service.next("status", at(OrderStatus.MINING))
    with Terminal([*SWAP, "--poll", "60", "--keystore", str(keystore)], env) as screen:
        screen.expect("Sign and submit? [y/N]: ")
        assert service.bodies("order") == []
        screen.type("y\n")
        screen.expect("Password of wallet.json: ")
        screen.type("wrong\n")
        screen.expect("The password is wrong")
        screen.expect("Password of wallet.json: ")
        screen.type("open sesame\n")
        screen.expect("mining, ")  # the moving line
        screen.interrupt("the order may still be mined")
        assert screen.end() == 4
    assert "sesame" not in screen.text
    assert _COLOUR.search(screen.text)

    hint = next(line for line in screen.text.splitlines() if "--follow" in line)
    with Terminal(shlex.split(hint)[1:], env) as again:
        assert again.end() == 0
        assert "confirmed" in again.text


@pytest.mark.parametrize("words", [SWAP, ("wrap", "1")], ids=lambda words: words[0])
def test_ctrl_c_while_the_signer_thinks(
    env: dict[str, str], service: FakeService, tmp_path: Path, words: tuple[str, ...]
) -> None:
    script = tmp_path / "slow.py"
    script.write_text("import sys\nprint('thinking', file=sys.stderr)\nsys.stdin.close()\n"
                      "import signal\nsignal.pause()\n", "utf-8")  # fmt: skip
    sign = ("--sign-with", f"{sys.executable} {script}", "--wallet", WALLET)
    with Terminal([*words, *sign, "--yes", "--json"], env) as screen:
        screen.expect("thinking")
        screen.interrupt('"error":"ABORTED","message":"stopped; nothing was signed"')
        assert screen.end() == 1
    assert "may have been" not in screen.text
    assert service.bodies("order") == service.bodies("wrap order") == []


def test_ctrl_c_before_anything_is_signed(env: dict[str, str], service: FakeService) -> None:
    alone = env | {"QUIETSWAP_PRIVATE_KEY": KEY, "NO_COLOR": "1"}
    with Terminal(SWAP, alone) as screen:
        screen.expect("Sign and submit? [y/N]: ")
        screen.interrupt("Aborted!")
        assert screen.end() == 1
    assert service.bodies("order") == []
    assert not _COLOUR.search(screen.text)
    assert "Traceback" not in screen.text


def test_signals_after_the_first_interrupt_no_cleanup() -> None:
    """A closed terminal sends several: connections are still closed."""
    before = {name: signal.getsignal(name) for name in (signal.SIGHUP, signal.SIGTERM)}
    cleaned = []
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # it is ignored under nohup

    def work() -> None:
        try:
            signal.raise_signal(signal.SIGHUP)
        finally:
            for name in before:
                signal.raise_signal(name)
                cleaned.append(name)

    try:
        with pytest.raises(KeyboardInterrupt), signals_as_ctrl_c():
            work()
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
    assert cleaned == [*before]
