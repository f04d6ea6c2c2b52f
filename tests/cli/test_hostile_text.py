"""Text that a service, a node or a contract chooses is shown letter by letter, whatever it says.

Each free text of each answer is replaced in turn, and the command runs once: it ends as it does
with the honest text, no terminal acts on its output, and no line of it is another's.
"""

import asyncio
import copy
import json
import re
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from eth_abi import encode

from quietswap.cli import LazyGroup
from quietswap.cli.commands.sources import _print as print_checks
from quietswap.cli.options import connection
from quietswap.rules.contract.webhooks import DeliveriesResponse, WebhookListResponse
from quietswap.rules.orders.order import Failure, FailureCode, OrderEvent, OrderStatus
from quietswap.rules.tx.address import Address
from quietswap.service.server.checks import CheckResult
from quietswap.service.webhooks import http as webhooks_http
from tests.api.scripted_use_cases import DELIVERY, ROUTER, WEBHOOK
from tests.cli.conftest import Quietswap
from tests.cli.operator_commands import Run
from tests.client.fake_chain import FakeChain
from tests.client.fake_node import NodeSays
from tests.client.fake_servers import ETHER, Asked, FakeService, Reply, ok
from tests.manual_clock import ManualClock
from tests.patient import open_storage
from tests.response_json import as_json
from tests.stored_orders import order

ATTACK = (
    "[/x][b]bold[/b][link=https://evil.test]go[/link]:boom:\x1b[2J\x1b]8;;https://evil.test\x07"
    "\x9b31m\u202e\u2066\u200b\r\nFORGED 1 USDC\x00\x7f" + "a\u0334\u0334\u0334\u0334\u0334"
)
LONG = "[b]" + "x" * 100_000
TOKEN = Address("0x" + "71" * 20)
_SHAPED = re.compile(r"(0x)?[0-9a-fA-F]+|[\d.]+|https?://\S+|\d{4}-\d\d-\d\dT\S+")
"""Values whose pattern the client checks: another text there is a refused answer."""
COMMANDS: dict[str, tuple[str, ...]] = {
    "balances": ("balances", "WETH", "--allowances"),
    "tokens": ("tokens", "we"),
    "price": ("price", "1", "WETH", "USDC"),
    "quote": ("quote", "1", "WETH", "USDC"),
    "history": ("history",),
    "order": ("history", "--order", "ord_1"),
    "swap": ("swap", "1", "WETH", "USDC", "--yes", "--approve", "never"),
    "wrap": ("wrap", "1", "--yes"),
}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each free text."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    for name, child in children:
        if isinstance(child, dict | list):
            yield from leaves(child, (*path, name))
        elif child is None or (isinstance(child, str) and not _SHAPED.fullmatch(child)):
            yield (*path, name)


def with_text(value: Any, path: tuple[Any, ...], text: Any) -> Any:
    changed = inner = copy.deepcopy(value)
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = text
    return changed


def _renamed(value: Any, name: str, text: Any) -> Any:
    if isinstance(value, list):
        return [_renamed(child, name, text) for child in value]
    if isinstance(value, dict):
        return {n: text if n == name else _renamed(c, name, text) for n, c in value.items()}
    return value


class HostileService(FakeService):
    """Puts `text` at `place`, an endpoint and a path in its answer, or at every member `named` so.

    Without a place it collects all `places`.
    """

    def __init__(self, **usual: Any) -> None:
        super().__init__(**usual)
        self.places: set[tuple[str, tuple[Any, ...]]] = set()
        self.place: tuple[str, tuple[Any, ...]] | None = None
        self.named = ""
        self.text: Any = ATTACK

    def reply(self, asked: Asked) -> Reply:
        reply = super().reply(asked)
        if not isinstance(reply.body, dict):
            return reply
        if self.named:
            return replace(reply, body=_renamed(reply.body, self.named, self.text))
        if self.place is None:
            self.places |= {(asked.path, path) for path in leaves(reply.body)}
        elif asked.path == self.place[0]:
            return replace(reply, body=with_text(reply.body, self.place[1], self.text))
        return reply


@pytest.fixture
def service(node: FakeChain) -> HostileService:
    node.allowances[ROUTER.lower()] = ETHER
    return HostileService(mines=node.mine, approvals=lambda: len(node.sent))


def inert(text: str) -> None:
    """Check that no terminal acts on this output, and that no text of it began a line."""
    assert all(char.isprintable() or char == "\n" for char in text), ascii(text)
    assert not any(line.lstrip().startswith("FORGED") for line in text.splitlines()), text
    assert "💥" not in text
    assert "Traceback" not in text
    flat = "".join(text.split())
    if "FORGED" in flat and "evil.test" in flat:
        assert "[/x][b]bold[/b][link=https://evil.test]go[/link]:boom:" in flat, text


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_no_text_of_a_service_is_interpreted(
    quietswap: Quietswap, service: HostileService, words: tuple[str, ...]
) -> None:
    honest = quietswap(*words)
    assert honest.exit_code == 0, honest.output
    assert service.places
    for place in sorted(service.places, key=str):
        service.place = place
        done = quietswap(*words)
        assert isinstance(done.exception, SystemExit | None), (place, done.exception)
        assert done.exit_code in (0, 1, 3, 4), (place, done.output)
        inert(done.output)


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_json_keeps_the_text_and_is_as_harmless(
    quietswap: Quietswap, service: HostileService, words: tuple[str, ...]
) -> None:
    quietswap(*words)
    kept = 0
    for place in sorted(service.places, key=str):
        service.place = place
        done = quietswap(*words, "--json")
        inert(done.output)
        values = json.loads(done.stdout)
        kept += ATTACK in _texts(values)
    assert kept or words[0] == "balances", "a token of odd symbol is named by its address"


def _texts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *(text for child in value.values() for text in _texts(child))]
    if isinstance(value, list):
        return [text for child in value for text in _texts(child)]
    return [value]


def test_a_very_long_text_leaves_the_rest_on_the_screen(
    quietswap: Quietswap, service: HostileService
) -> None:
    quietswap("quote", "1", "WETH", "USDC")
    service.text = LONG
    for place in sorted(service.places, key=str):
        service.place = place
        done = quietswap("quote", "1", "WETH", "USDC")
        assert len(done.output) < 20_000, (place, len(done.output))


@pytest.fixture(params=["America/New_York", "Asia/Tokyo"])
def zone(request: pytest.FixtureRequest) -> Iterator[None]:
    """This machine's time zone, west or east of UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(
    ("command", "name", "value", "code"),
    [
        ("history", "createdAt", "0001-01-01T00:00:00Z", 0),
        ("order", "confirmedAt", "9999-12-31T23:59:59Z", 0),
        ("balances", "decimals", 10**30, 3),
        ("tokens", "decimals", 256, 3),
    ],
)
@pytest.mark.usefixtures("zone")
def test_the_last_value_of_a_type_has_an_output(
    quietswap: Quietswap, service: HostileService, command: str, name: str, value: Any, code: int
) -> None:
    service.text, service.named = value, name
    done = quietswap(*COMMANDS[command])
    assert done.exit_code == code, done.output
    inert(done.output)


def test_no_symbol_of_a_contract_is_interpreted(
    quietswap: Quietswap, node: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = node.eth_call

    def named(call: dict[str, str], block: str) -> str:
        if call["data"].startswith("0x95d89b41"):
            return "0x" + encode(["string"], [ATTACK[:8] + "\x1b[2J\n\u202e"]).hex()
        return usual(call, block)

    monkeypatch.setattr(node, "eth_call", named)
    done = quietswap("quote", "1", TOKEN, "USDC")
    assert "[/x][b]b" in done.output
    inert(done.output)


def test_no_words_of_a_node_are_interpreted(
    quietswap: Quietswap, node: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_call: object, _block: str) -> str:
        raise NodeSays(ATTACK)

    monkeypatch.setattr(node, "eth_call", refuses)
    done = quietswap("quote", "1", TOKEN, "USDC")
    assert done.exit_code == 1
    assert "[/x][b]bold" in done.output
    inert(done.output)


def test_no_webhook_is_interpreted(quietswap: Quietswap, service: FakeService) -> None:
    hook = replace(WEBHOOK, description=ATTACK, url="https://evil.test/[/x][b]\u202e")
    service.next(
        "status", ok(as_json(WebhookListResponse(webhooks=(webhooks_http.webhook_response(hook),))))
    )
    listed = quietswap("webhooks", "list")
    assert listed.exit_code == 0, listed.output
    assert "[/x][b]" in listed.output
    inert(listed.output)
    tried = webhooks_http.delivery_response(replace(DELIVERY, error=ATTACK))
    service.next("status", ok(as_json(DeliveriesResponse(deliveries=(tried,)))))
    done = quietswap("webhooks", "deliveries", "whk_1")
    assert "[/x][b]" in done.output
    inert(done.output)


def _raising(error: Callable[[], BaseException]) -> click.Command:
    @click.command(cls=LazyGroup, invoke_without_command=True)
    def command() -> None:
        raise error()

    return command


@pytest.mark.parametrize(
    "error", [ValueError, click.ClickException, click.UsageError, OSError, RuntimeError]
)
def test_an_exception_shows_its_text_escaped(error: type[Exception]) -> None:
    """A traceback, too: it is written by Python, not by the console."""
    done = CliRunner().invoke(_raising(lambda: error(ATTACK)), [])
    assert done.exit_code in (1, 2)
    assert "\\u001b]8;;" in done.output
    assert all(char.isprintable() or char == "\n" for char in done.output)
    unexpected = error in (ValueError, OSError, RuntimeError)
    assert ("Traceback" in done.output) is unexpected
    assert traceback.format_exception(ValueError(ATTACK))[-1] not in done.output


def test_a_question_shows_its_text_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command(cls=LazyGroup, invoke_without_command=True)
    def command() -> None:
        connection.confirm(f"Swap {ATTACK}?", skip=False)

    monkeypatch.setattr(connection, "_is_interactive", lambda: True)
    done = CliRunner().invoke(command, [], input="n\n")
    assert "\\u001b]8;;" in done.output
    assert "\x1b" not in done.output


def test_no_words_of_a_dependency_are_interpreted(capsys: pytest.CaptureFixture[str]) -> None:
    print_checks([CheckResult("source", "velora", False, 3, ATTACK, "")])
    shown = capsys.readouterr().out
    assert "[/x][b]" in shown
    inert(shown)


def test_no_event_of_an_order_is_interpreted(operate: Run, tmp_path: Path) -> None:
    async def fill() -> None:
        storage = await open_storage(f"sqlite:///{tmp_path / 'own.db'}", clock=ManualClock())
        failed = order(status=OrderStatus.FAILED, failure=Failure(FailureCode.REFUSED, ATTACK))
        line = OrderEvent(failed.order_id, 0, "refused", None, failed.status, ATTACK)
        await storage.orders.add(failed, line)
        await storage.close()

    asyncio.run(fill())
    [listed] = json.loads(operate("orders", "list", "--all", "--json").stdout)
    shown = operate("orders", "show", listed["orderId"]).stdout
    assert shown.count("[/x][b]bold[/b]") == 3
    inert(shown)
