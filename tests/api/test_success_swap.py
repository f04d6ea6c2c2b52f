"""What a good swap request gets, field for field."""

from decimal import Decimal
from typing import Any

import httpx
import pytest

from quietswap.rules.chain.pool_reference import Reference
from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from quietswap.rules.orders.order_views import OrderPage
from quietswap.rules.quotes.request import SwapQuoteRequest
from quietswap.rules.safety.loss import WORDS
from quietswap.rules.safety.wallet_effects import QuoteIssues, Shortfall
from quietswap.rules.tokens.token import WETH
from tests.api import requests
from tests.api.scripted_use_cases import KEY, ROUTER, WALLET, ScriptedUseCases, swap_quote
from tests.quoting.loss_table import LOSSES, Row, quoted
from tests.stored_orders import NOW_MS, USDC, inclusion, listed, order

NOW = "2027-01-15T08:00:00.000Z"


QUOTED = {
    "source": "kyberswap",
    "sellToken": WETH,
    "buyToken": USDC,
    "sellAmount": "1000000000000000000",
    "buyAmount": "3000000000",
    "minBuyAmount": "2985000000",
    "estimatedGas": 210_000,
    "priceImpact": 0.12,
    "priceImpactAvailable": True,
    "dexRoute": {
        "dex": "uniswap-v3",
        "target": ROUTER,
        "path": [WETH, USDC],
        "data": "0xe21fd0e9",
    },
    "executableUntil": None,
    "scoring": {"netValueUsd": 2999.123457, "gasCostUsd": 0.63, "priceAvailable": True},
    "alternatives": [{"source": "velora", "buyAmount": "2990000000", "netValueUsd": 2989.2}],
    "mevAnalysis": {"threatLevel": "MEDIUM", "estimatedProtectionUsd": 15.0, "known": True},
    "mevProtection": {
        "provider": "Test Relay",
        "transactionParams": {
            "to": ROUTER,
            "data": "0xe21fd0e9",
            "value": "0",
            "gasLimit": "262500",
            "maxFeePerGas": "6000000000",
            "maxPriorityFeePerGas": "0",
            "nonce": 7,
            "chainId": 1,
            "type": 2,
        },
        "providerMetadata": {
            "provider": "mev_relay",
            "tier": 2,
            "mevRelayMetadata": {
                "endpoint": "https://relay.test/noreverts?shareSafe=1&referrer=quietswap",
                "endpointType": "noreverts",
                "shareMode": "shareSafe",
                "revertProtection": True,
                "useBoost": False,
                "expectedRebate": 0.04,
            },
        },
    },
    "verification": {"status": "verified", "bound": True, "notes": ["a note"]},
    "loss": {"level": "none", "bps": 50, "causes": []},
    "sources": [
        {
            "source": "kyberswap",
            "outcome": "won",
            "latencyMs": 210,
            "promised": "3000000000",
            "simulated": "3000000000",
            "differenceBps": 0,
            "reason": None,
            "referenceBps": None,
        },
        {
            "source": "sushi",
            "outcome": "timed_out",
            "latencyMs": 3000,
            "promised": None,
            "simulated": None,
            "differenceBps": None,
            "reason": "no answer in time",
            "referenceBps": None,
        },
    ],
    "issues": {"allowance": None, "balance": None, "gas": None},
    "batch": None,
}


async def test_a_swap_quote_is_told_field_for_field(client: httpx.AsyncClient) -> None:
    answer = (await requests.ask(client, requests.QUOTE)).json()
    assert answer["ok"] is True
    assert answer["timestamp"] == NOW_MS
    assert answer["data"] == QUOTED


async def test_a_swap_quote_asks_with_the_defaults(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    await requests.ask(client, requests.QUOTE)
    assert inside.asked == [(KEY, SwapQuoteRequest(WETH, USDC, 10**18, WALLET, 50))]


async def test_a_swap_quote_asks_with_what_was_given(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    largest = 2**255 - 1
    await requests.ask(
        client, requests.QUOTE, sellAmount=str(largest), slippageBps="5000", chainId="1"
    )
    assert inside.asked == [(KEY, SwapQuoteRequest(WETH, USDC, largest, WALLET, 5000))]


async def test_an_unknown_usd_value_is_zero_and_says_so(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.quote = swap_quote(net_value_usd=None, gas_cost_usd=None, impact_percent=None)
    data = (await requests.ask(client, requests.QUOTE)).json()["data"]
    assert data["scoring"] == {"netValueUsd": 0.0, "gasCostUsd": 0.0, "priceAvailable": False}
    assert (data["priceImpact"], data["priceImpactAvailable"]) == (0.0, False)


def told(row: Row) -> dict[str, Any]:
    """Return `loss` of a row."""
    words = {words: cause for cause, words in WORDS.items()}
    causes = []
    for text in filter(None, row.causes.split(", ")):
        share, _, after = text.partition(" % ")
        bps = int(Decimal(share) * 100) if after else None
        causes.append({"cause": words[after or text].value, "bps": bps})
    return {"level": row.level, "bps": row.bps, "causes": causes}


@pytest.mark.parametrize("name", [name for name, row in LOSSES.items() if row.below is None])
async def test_what_a_swap_may_lose_is_judged(
    client: httpx.AsyncClient, inside: ScriptedUseCases, name: str
) -> None:
    row = LOSSES[name]
    inside.quote = swap_quote(**quoted(row))
    data = (await requests.ask(client, requests.QUOTE)).json()["data"]
    assert data["loss"] == told(row)


async def test_what_keeps_a_quote_from_being_submitted_is_told(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    lacks = QuoteIssues(
        allowance=Shortfall(5, 10**18, ROUTER),
        balance=Shortfall(7, 10**18, WETH),
        gas=Shortfall(9, 525 * 10**12),
    )
    inside.quote = swap_quote(issues=lacks, threat_known=False)
    data = (await requests.ask(client, requests.QUOTE)).json()["data"]
    assert data["issues"] == {
        "allowance": {"spender": ROUTER, "actual": "5", "needed": "1000000000000000000"},
        "balance": {"token": WETH, "actual": "7", "needed": "1000000000000000000"},
        "gas": {"actual": "9", "needed": "525000000000000"},
    }
    assert data["mevAnalysis"]["known"] is False


async def test_usd_figures_of_any_size_stay_numbers(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.quote = swap_quote(net_value_usd=Decimal(10) ** 60, gas_cost_usd=Decimal("1e-30"))
    scoring = (await requests.ask(client, requests.QUOTE)).json()["data"]["scoring"]
    assert scoring == {"netValueUsd": 1e60, "gasCostUsd": 0.0, "priceAvailable": True}


async def test_a_swap_order_is_taken(client: httpx.AsyncClient, inside: ScriptedUseCases) -> None:
    answer = (await requests.ask(client, requests.ORDERS)).json()
    assert answer == {
        "ok": True,
        "data": {
            "order": {
                "orderId": "ord_1",
                "provider": "Test Relay",
                "tier": 2,
                "status": "submitted",
                "submittedAt": "2027-01-15T08:00:00.400Z",
                "expiresAt": "2027-01-15T08:30:00.000Z",
                "executableUntil": None,
                "estimatedExecutionTime": "15-45 seconds",
                "trackingUrl": "https://relay.test/tx/0x" + "aa" * 32,
                "providerOrderId": "0x" + "aa" * 32,
                "txHash": "0x" + "aa" * 32,
            },
            "tracking": {
                "statusEndpoint": "/api/v1/mev/orders/ord_1",
                "pollingInterval": 10,
            },
        },
    }
    (_, submission), = inside.asked  # fmt: skip
    assert submission.terms == requests.order_body()["orderParams"]
    assert submission.raw_hex == "0x02"


async def test_an_order_the_relay_was_silent_about_has_the_time_it_was_accepted(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.order = order(status=OrderStatus.PENDING)
    told = (await requests.ask(client, requests.ORDERS)).json()["data"]["order"]
    assert (told["status"], told["submittedAt"]) == ("pending", NOW)


async def test_the_status_of_an_open_order_leaves_out_what_is_not_known(
    client: httpx.AsyncClient,
) -> None:
    assert (await requests.ask(client, requests.ORDER)).json() == {
        "ok": True,
        "data": {
            "orderId": "ord_1",
            "status": "submitted",
            "txHash": "0x" + "aa" * 32,
            "createdAt": NOW,
            "submittedAt": "2027-01-15T08:00:00.400Z",
            "orderParams": {
                "fromToken": WETH,
                "toToken": USDC,
                "amount": "1000000000000000000",
                "minReturnAmount": "2900000000",
            },
            "kind": "swap",
            "expiresAt": "2027-01-15T08:30:00.000Z",
            "endpointType": "noreverts",
            "shareMode": "shareSafe",
            "executableUntil": None,
            "nonce": 7,
        },
    }


async def test_the_status_of_a_confirmed_order_tells_block_and_cost(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.order = order(
        status=OrderStatus.CONFIRMED, inclusion=inclusion(block_time_ms=NOW_MS + 12_000)
    )
    data = (await requests.ask(client, requests.ORDER)).json()["data"]
    assert data["blockNumber"] == 100
    assert data["gasUsed"] == "150000"
    assert data["effectiveGasPrice"] == "1000000000"
    assert data["confirmedAt"] == "2027-01-15T08:00:12.000Z"
    assert "error" not in data


@pytest.mark.parametrize(
    ("before_s", "confirmed_at"),
    [(11, "2027-01-15T08:00:00.000Z"), (12, "2027-01-15T07:59:48.000Z")],
    ids=["in the block's slot", "adopted after it was mined"],
)
async def test_an_order_is_confirmed_when_its_block_was_made(
    client: httpx.AsyncClient, inside: ScriptedUseCases, before_s: int, confirmed_at: str
) -> None:
    """An adopted order may be days younger than its block: status and history have the block's."""
    block = inclusion(block_time_ms=NOW_MS - before_s * 1000)
    inside.order = order(status=OrderStatus.CONFIRMED, inclusion=block)
    inside.page = OrderPage((listed(inside.order),), 1)
    status = (await requests.ask(client, requests.ORDER)).json()["data"]
    (line,) = (await requests.ask(client, requests.HISTORY)).json()["data"]["orders"]
    for told in (status, line):
        assert (told["createdAt"], told["confirmedAt"]) == (NOW, confirmed_at)


async def test_the_status_of_a_confirmed_swap_compares_it_with_the_reference(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    block = inclusion(received=2_996_400_000, reference=Reference(3_000 * 10**6, 10**18))
    inside.order = order(status=OrderStatus.CONFIRMED, inclusion=block)
    data = (await requests.ask(client, requests.ORDER)).json()["data"]
    assert data["reference"] == {
        "blockNumber": 99,
        "amount": "3000000000",
        "valueWei": "1000000000000000000",
        "receivedBps": -12,
    }
    inside.order = order(status=OrderStatus.CONFIRMED, inclusion=inclusion(received=1))
    assert "reference" not in (await requests.ask(client, requests.ORDER)).json()["data"]


async def test_an_included_order_is_not_confirmed_before_its_status_says_so(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    inside.order = order(status=OrderStatus.MINING, inclusion=inclusion())
    data = (await requests.ask(client, requests.ORDER)).json()["data"]
    assert not {"blockNumber", "gasUsed", "effectiveGasPrice", "confirmedAt"} & data.keys()


async def test_a_reverted_order_tells_what_it_cost_in_its_error(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    failure = Failure(FailureCode.REVERTED, "the transaction reverted")
    inside.order = order(
        status=OrderStatus.FAILED, inclusion=inclusion(succeeded=False), failure=failure
    )
    data = (await requests.ask(client, requests.ORDER)).json()["data"]
    assert data["error"] == {
        "code": "REVERTED",
        "message": "the transaction reverted",
        "mayBeMined": False,
        "blockNumber": 100,
        "gasUsed": "150000",
        "effectiveGasPrice": "1000000000",
    }
    assert not {"blockNumber", "gasUsed", "effectiveGasPrice", "confirmedAt"} & data.keys()


async def test_a_cancelled_order_says_why(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    failure = Failure(FailureCode.EXPIRED, "30 minutes passed")
    inside.order = order(status=OrderStatus.CANCELLED, failure=failure)
    data = (await requests.ask(client, requests.ORDER)).json()["data"]
    assert data["error"] == {
        "code": "EXPIRED",
        "message": "30 minutes passed",
        "mayBeMined": True,
    }


async def test_an_order_that_was_never_sent_has_no_transaction(
    client: httpx.AsyncClient, inside: ScriptedUseCases
) -> None:
    failure = Failure(FailureCode.NOT_SENT, "the relay could not be reached")
    inside.order = order(status=OrderStatus.FAILED, failure=failure)
    data = (await requests.ask(client, requests.ORDER)).json()["data"]
    assert not {"txHash", "submittedAt"} & data.keys()
    inside.page = OrderPage((listed(inside.order),), 1)
    (row,) = (await requests.ask(client, requests.HISTORY)).json()["data"]["orders"]
    assert row["txHash"] is None
