"""`quietswap swap --approve batch`: approval and swap in one transaction, or nothing is signed."""

from dataclasses import replace

import pytest

from quietswap.rules.tx.signed import decode
from tests.api.scripted_use_cases import ROUTER
from tests.batches import delegated
from tests.cli.conftest import Quietswap
from tests.cli.test_swap_command import SWAP
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import ETHER, FakeService, ok
from tests.client.test_batched import CONVERTING, converting, offered

BATCH = (*SWAP, "--approve", "batch")
WITH_ETH = {"wrap": ("1", "ETH", "USDC"), "unwrap": ("1", "USDC", "ETH")}


@pytest.fixture
def delegate(service: FakeService, node: FakeChain) -> FakeChain:
    node.code, node.delivers, node.takes = delegated(), 3 * 10**9, ETHER
    service.next("quote", *[ok(offered())] * 3)
    return node


def test_nothing_is_asked_of_a_person_whose_wallet_cannot(
    quietswap: Quietswap, service: FakeService, delegate: FakeChain
) -> None:
    delegate.code = "0x"
    result = quietswap(*BATCH, "--yes")
    assert result.exit_code == 1
    assert "the wallet is not delegated (EIP-7702)" in " ".join(result.output.split())
    assert (delegate.sent, service.bodies("order")) == ([], [])


@pytest.mark.parametrize("conversion", [None, *WITH_ETH])
def test_a_quote_tells_a_delegated_wallet_that_one_transaction_does_it(
    quietswap: Quietswap, service: FakeService, delegate: FakeChain, conversion: str | None
) -> None:
    words = WITH_ETH.get(conversion or "", ("1", "WETH", "USDC"))
    service.script["quote"].clear()
    told = converting(conversion) if conversion else offered()
    service.next("quote", ok(told), ok(told | {"batch": None}))
    shown = " ".join(quietswap("quote", *words).stdout.split())
    steps = {"wrap": "wrap, approval and swap", "unwrap": "approval, swap and unwrap"}
    line = f"at once {steps.get(conversion or '', 'approval and swap')} in one transaction"
    assert f"{line}, as the wallet is delegated: swap --approve batch" in shown
    asked = [each.query for each in service.asked if each.path == "/api/v1/quote"]
    assert [each.get("conversion") for each in asked] == [conversion]
    assert "at once" not in quietswap("quote", *words).stdout


def test_an_allowance_that_suffices_needs_no_batch(
    quietswap: Quietswap, service: FakeService, delegate: FakeChain
) -> None:
    delegate.allowances[ROUTER.lower()] = ETHER
    result = quietswap(*BATCH, "--yes")
    assert f"{ROUTER} (router of kyberswap)" in " ".join(result.stdout.split())
    [body] = service.bodies("order")
    assert decode(body["signedTransaction"]).params.to == ROUTER


def test_it_needs_a_node(quietswap: Quietswap, environment: dict[str, str | None]) -> None:
    environment["QUIETSWAP_RPC_URL"] = None
    result = quietswap(*BATCH, "--yes", "--at-least", "1")
    assert result.exit_code == 2
    assert "--approve batch needs --rpc-url" in result.output


@pytest.mark.parametrize("conversion", WITH_ETH)
@pytest.mark.parametrize("offers", ["no conversion", "another value", "a plain swap"])
def test_nothing_is_signed_for_another_batch_than_that_with_eth(
    quietswap: Quietswap, service: FakeService, delegate: FakeChain, conversion: str, offers: str
) -> None:
    _, good = CONVERTING[conversion]
    alone = replace(good, wrapped=0, unwrapped=0)
    quote = {
        "no conversion": converting(conversion, data="0x" + alone.data.hex()),
        "another value": converting(conversion, value="1"),
        "a plain swap": converting(conversion, to=ROUTER, data="0x" + good.swap.hex()),
    }[offers]
    service.script["quote"].clear()
    service.next("quote", ok(quote))
    words = (*WITH_ETH[conversion], "--approve", "batch", "--max-loss", "100")
    result = quietswap("swap", *words, "--yes", "--at-least", "0.0001")
    assert result.exit_code == 1
    assert "not signed" in result.output
    assert [each.query["conversion"] for each in service.asked if each.query] == [conversion]
    assert (delegate.sent, service.bodies("order")) == ([], [])
