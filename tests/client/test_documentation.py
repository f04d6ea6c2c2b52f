"""The code of docs/client.md runs."""

import re
from pathlib import Path

import pytest

from quietswap import client as package
from quietswap.client.errors import ClientError
from quietswap.client.transports import Endpoints
from quietswap.rules import errors
from quietswap.rules.tokens.token import WrapOperation
from tests.api.scripted_use_cases import ROUTER
from tests.client.fake_chain import ACCOUNT, FakeChain
from tests.client.fake_servers import ETHER, FakeServers, FakeService, refused, wrap_answer
from tests.client.fake_servers import ok as answered

PAGE = Path(__file__).parents[2] / "docs" / "client.md"


def test_the_page_runs(
    outside: FakeServers,
    service: FakeService,
    node: FakeChain,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("QUIETSWAP_URL", outside.url)
    monkeypatch.setenv("QUIETSWAP_API_KEY", "qs_right")
    monkeypatch.setenv("QUIETSWAP_RPC_URL", outside.rpc_url)
    monkeypatch.setenv("QUIETSWAP_PRIVATE_KEY", "0x" + bytes(ACCOUNT.key).hex())
    node.allowances[ROUTER.lower()] = ETHER
    service.next("wrap quote", answered({"quote": wrap_answer(WrapOperation.WRAP, ETHER // 2)}))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        if number == len(blocks) - 1:
            service.next("status", refused(errors.OrderNotFound()))
        exec(compile(block, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    for words in (
        "confirmed 3000000000 of 3000000000",
        service.tx_hash,
        "5 0.5",
        "ORDER_NOT_FOUND",
    ):
        assert words in said


def test_the_page_names_every_kind_of_exception() -> None:
    text = PAGE.read_text("utf-8")
    for kind in ClientError.__subclasses__():
        assert f"`{kind.__name__}`" in text


def test_everything_public_is_exported() -> None:
    assert all(hasattr(package, name) for name in package.__all__)
    assert {kind.__name__ for kind in package.ERROR_CLASSES.values()} <= set(package.__all__)


def test_endpoints_do_not_print_their_secrets() -> None:
    shown = repr(Endpoints("https://service.test", "qs_secret", "https://node.test/v1/key"))
    assert shown == "Endpoints(https://service.test)"
