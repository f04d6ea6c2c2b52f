"""What may be lost: shown from 1 %, asked in words from 3 %, typed from 15 %; --yes names it."""

import json

import pytest

from quietswap.cli.options import connection
from tests.cli.conftest import Quietswap
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import FakeService, ok, swap_quote
from tests.client.test_loss import offer
from tests.client.test_swap_flow import approved
from tests.quoting.loss_table import LOSSES, Row, quoted
from tests.response_json import quotes

__all__ = ["approved"]
SWAP = ("swap", "1", "WETH", "USDC", "--poll", "0.2")
WORDS = {"none": None, "notice": None, "confirm": "yes"}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_is_interactive", lambda: True)


def swap(row: Row, *more: str) -> tuple[str, ...]:
    return (*SWAP, "--slippage-bps", str(row.slippage_bps), *more)


def lines(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("name", LOSSES)
def test_a_person_is_asked_by_the_table(
    quietswap: Quietswap, service: FakeService, approved: FakeChain, name: str
) -> None:
    row = LOSSES[name]
    wanted = WORDS.get(row.level, str(-(-row.bps // 100)))
    for answer in ("y", "1", wanted or "y"):
        offer(service, approved, row)
        result = quietswap(*swap(row), input=f"{answer}\n")
        shown = lines(result.output)
        assert (f"careful it may lose: {row.causes}" in shown) is (row.level != "none")
        question = f"It may lose: {row.causes}. To sign it nevertheless, type {wanted}"
        assert (question in shown) is (wanted is not None)
        assert ("Sign and submit?" in shown) is (wanted is None)
    signs = 2 if wanted is None else 1
    assert len(service.bodies("order")) == signs, "y, 1 and the word were typed"


@pytest.mark.parametrize("name", [name for name, row in LOSSES.items() if row.below is None])
def test_yes_accepts_no_loss_that_would_be_asked(
    quietswap: Quietswap,
    service: FakeService,
    approved: FakeChain,
    environment: dict[str, str | None],
    name: str,
) -> None:
    """Without a node: a node without prices would need --at-least anyway."""
    environment["QUIETSWAP_RPC_URL"] = None
    row = LOSSES[name]
    command = swap(row, "--yes", "--at-least", "1")
    offer(service, approved, row)
    result = quietswap(*command)
    # --at-least is a price of the caller's own
    is_declined = row.level == "type" or (row.level == "confirm" and row.bps >= 300)
    assert result.exit_code == is_declined, result.output
    if not is_declined:
        return
    assert "accept a loss up to --max-loss" in lines(result.stdout)
    assert service.bodies("order") == []
    for most, code in ((row.bps - 1, 1), (row.bps, 0)):
        offer(service, approved, row)
        named = quietswap(*command, "--max-loss", f"{most / 100:.2f}")
        assert named.exit_code == code, named.output


def test_yes_declines_the_distance_from_the_reference(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    row = LOSSES["far below the reference"]
    offer(service, approved, row)
    result = quietswap(*SWAP, "--yes", "--at-least", "1")
    assert (result.exit_code, service.bodies("order")) == (1, [])
    assert row.causes in lines(result.stdout)


def test_slippage_of_three_percent_is_not_the_default_of_max_impact(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    row = LOSSES["slippage of a question"]
    for options, code in (((), 1), (("--max-impact", "3"), 0)):
        service.next("quote", ok(quotes.swap_quote_response(swap_quote(**quoted(row)))))
        assert quietswap(*swap(row, "--yes"), *options).exit_code == code


@pytest.mark.usefixtures("terminal")
def test_a_named_loss_is_not_asked_for(
    quietswap: Quietswap, service: FakeService, approved: FakeChain
) -> None:
    offer(service, approved, LOSSES["half of the value"])
    result = quietswap(*SWAP, "--max-loss", "48", input="y\n")
    assert "Sign and submit?" in result.output
    assert len(service.bodies("order")) == 1


@pytest.mark.parametrize("command", ["quote", "price"])
def test_quote_and_price_show_it(quietswap: Quietswap, service: FakeService, command: str) -> None:
    row = LOSSES["half of the value"]
    answer = quotes.swap_quote_response(swap_quote(**quoted(row)))
    service.next("quote", ok(answer))
    found = json.loads(quietswap("price", "1", "WETH", "USDC", "--json").stdout)
    service.next("price", ok(found | {"priceImpact": 47.69}))
    shown = lines(quietswap(command, "1", "WETH", "USDC").stdout)
    assert f"careful it may lose: {row.causes}" in shown


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(("ether", "word"), [("0.001", "yes"), ("0.0005", "28"), ("0.0014", None)])
def test_a_wrap_that_its_gas_eats_up(
    quietswap: Quietswap, service: FakeService, ether: str, word: str | None
) -> None:
    """45,041 gas at 3 gwei."""
    shown = lines(quietswap("wrap", ether, input=f"{word or 'y'}\n").output)
    assert ("% of the value for gas. To sign it" in shown) is (word is not None)
    assert len(service.bodies("wrap order")) == 1
    declined = quietswap("wrap", ether, "--yes")
    assert declined.exit_code == (word is not None)
    assert quietswap("wrap", ether, "--yes", "--max-loss", "30").exit_code == 0
