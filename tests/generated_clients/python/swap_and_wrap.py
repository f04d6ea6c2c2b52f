"""Swap 0.1 WETH for USDC, wrap 0.2 ETH and read an error, with a generated client.

Prints one JSON object with what the service answered.
"""

import json
import os
import sys
import time
from typing import NoReturn, assert_type

import httpx
from eth_account import Account
from quietswap_api import AuthenticatedClient
from quietswap_api.api.orders import order_history, order_status
from quietswap_api.api.swaps import swap_order, swap_quote
from quietswap_api.api.wrapping import wrap_order, wrap_quote
from quietswap_api.models import (
    EstimatedProtection,
    EstimatedSavings,
    OrderedRoute,
    OrderStatusResponse,
    SwapOrderBody,
    SwapOrderParams,
    SwapQuoteResponse,
    ThreatAnalysis,
    TransactionParams,
    WrapOrderBody,
    WrapQuoteBody,
    WrapTransactionParams,
)

WETH = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
SLIPPAGE_BPS = 50
POLL_S = float(os.environ.get("POLL_SECONDS", "10"))
TERMINAL = ("confirmed", "failed", "cancelled")

account = Account.from_key(os.environ["QUIETSWAP_PRIVATE_KEY"])
wallet = str(account.address)
client = AuthenticatedClient(
    os.environ["QUIETSWAP_URL"],
    os.environ["QUIETSWAP_API_KEY"],
    prefix="",
    auth_header_name="X-API-Key",
    timeout=httpx.Timeout(30),
)


def fail(answer: object) -> NoReturn:
    """End with the error that the service answered."""
    sys.exit(f"unexpected answer: {answer}")


def rpc(method: str, *params: object) -> object:
    """Return the result of a call to the node."""
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    body: dict[str, object] = httpx.post(os.environ["QUIETSWAP_RPC_URL"], json=call).json()
    if "error" in body:
        sys.exit(f"{method}: {body['error']}")
    return body["result"]


def quantity(method: str, *params: object) -> int:
    """Return a result of the node that is a number."""
    return int(str(rpc(method, *params)), 16)


def signed(params: TransactionParams | WrapTransactionParams, nonce: int) -> str:
    """Sign transactionParams unchanged."""
    return sign(
        {
            "to": params.to,
            "data": params.data,
            "value": int(params.value),
            "gas": int(params.gas_limit),
            "maxFeePerGas": int(params.max_fee_per_gas),
            "maxPriorityFeePerGas": int(params.max_priority_fee_per_gas),
            "nonce": nonce,
            "chainId": params.chain_id,
            "type": params.type_,
        }
    )


def sign(transaction: dict[str, str | int]) -> str:
    """Return the signed bytes as 0x-prefixed hex."""
    return "0x" + bytes(account.sign_transaction(transaction).raw_transaction).hex()


def mined(tx_hash: str) -> None:
    """Wait for the receipt. Ends the program if the transaction reverted."""
    deadline = time.monotonic() + 300
    while (receipt := rpc("eth_getTransactionReceipt", tx_hash)) is None:
        if time.monotonic() > deadline:
            sys.exit(f"{tx_hash} is not mined")
        time.sleep(POLL_S)
    if not isinstance(receipt, dict) or receipt["status"] != "0x1":
        sys.exit(f"{tx_hash} reverted")


def approved(router: str, amount: int) -> bool:
    """Approve WETH for the router if its allowance is too small; True if that was necessary."""
    spender = f"{router[2:].lower():0>64}"
    call = {"to": WETH, "data": f"0xdd62ed3e{wallet[2:].lower():0>64}{spender}"}
    if quantity("eth_call", call, "latest") >= amount:
        return False
    fees: dict[str, str | int] = {
        "maxFeePerGas": 3 * quantity("eth_gasPrice"),
        "maxPriorityFeePerGas": quantity("eth_maxPriorityFeePerGas"),
    }
    nonce = quantity("eth_getTransactionCount", wallet, "pending")
    data = f"0x095ea7b3{spender}{amount:064x}"
    bare: dict[str, str | int] = {
        "to": WETH,
        "data": data,
        "value": 0,
        "gas": 60_000,
        "nonce": nonce,
    }
    mined(str(rpc("eth_sendRawTransaction", sign(bare | fees | {"chainId": 1, "type": 2}))))
    return True


def quoted(amount: int) -> SwapQuoteResponse:
    """Request a quote."""
    answer = swap_quote.sync(
        client=client,
        sell_token=WETH,
        buy_token=USDC,
        sell_amount=str(amount),
        user_address=wallet,
        slippage_bps=SLIPPAGE_BPS,
    )
    if answer is None or answer.ok is False:
        fail(answer)
    return answer.data


def order_params(quote: SwapQuoteResponse) -> SwapOrderParams:
    """Return what an order repeats of its quote."""
    analysis, now = quote.mev_analysis, time.time()
    saved = EstimatedProtection(amount=analysis.estimated_protection_usd, currency="USD")
    return SwapOrderParams(
        from_token=quote.sell_token,
        to_token=quote.buy_token,
        amount=quote.sell_amount,
        min_return_amount=quote.min_buy_amount,
        user_address=wallet,
        chain_id=quote.mev_protection.transaction_params.chain_id,
        deadline=int(now) + 1800,
        slippage_bps=SLIPPAGE_BPS,
        selected_tier=quote.mev_protection.provider_metadata.tier,
        threat_analysis=ThreatAnalysis(
            threat_score=50,
            threat_level=analysis.threat_level,
            confidence=1,
            risk_factors=[],
            estimated_savings=EstimatedSavings(estimated_protection=saved),
            timestamp=int(now * 1000),
        ),
        transaction_value_usd=quote.scoring.net_value_usd,
        dex_route=OrderedRoute(target=quote.dex_route.target, data=quote.dex_route.data),
    )


def swap(amount: int) -> OrderStatusResponse:
    """Swap, and return the final status. An approval changes the nonce: request a new quote."""
    quote = quoted(amount)
    while approved(quote.dex_route.target, amount):
        quote = quoted(amount)
    params = quote.mev_protection.transaction_params
    body = SwapOrderBody(
        order_params=order_params(quote),
        signed_transaction=signed(params, params.nonce),
        provider_metadata=quote.mev_protection.provider_metadata,
    )
    answer = swap_order.sync(client=client, body=body)
    if answer is None or answer.ok is False:
        fail(answer)
    return followed(answer.data.order.order_id)


def followed(order_id: str) -> OrderStatusResponse:
    """Poll an order until its status is final."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        answer = order_status.sync(order_id, client=client)
        if answer is None or answer.ok is False:
            fail(answer)
        if answer.data.status in TERMINAL:
            return answer.data
        time.sleep(POLL_S)
    sys.exit(f"{order_id} is still open")


def wrap(amount: str) -> str:
    """Wrap ETH and return the transaction hash. The client sets the nonce."""
    request = WrapQuoteBody(operation="wrap", amount=amount, user_address=wallet)
    answer = wrap_quote.sync(client=client, body=request)
    if answer is None or answer.ok is False:
        fail(answer)
    protection = answer.data.quote.mev_protection
    nonce = quantity("eth_getTransactionCount", wallet, "pending")
    body = WrapOrderBody(
        operation="wrap",
        quote_id=answer.data.quote.quote_id,
        signed_transaction=signed(protection.transaction_params, nonce),
        provider_metadata=protection.provider_metadata,
    )
    order = wrap_order.sync(client=client, body=body)
    if order is None or order.ok is False:
        fail(order)
    mined(order.data.order.tx_hash)
    return order.data.order.tx_hash


def history(limit: int) -> dict[str, object]:
    """Return the number of the wallet's orders, and the id of the newest."""
    answer = order_history.sync(wallet, client=client, limit=limit)
    if answer is None or answer.ok is False:
        fail(answer)
    return {"total": answer.data.total, "newest": answer.data.orders[0].order_id}


def invalid_amount(amount: str) -> dict[str, str]:
    """Return what the service reports about an amount that it must reject."""
    answer = swap_quote.sync(
        client=client, sell_token=WETH, buy_token=USDC, sell_amount=amount, user_address=wallet
    )
    if answer is None or answer.ok is True or answer.error != "INVALID_AMOUNT":
        fail(answer)
    return {
        "code": answer.error,
        "provided": answer.details.provided,
        "field": answer.details.field,
    }


def check_types(quote: SwapQuoteResponse) -> None:
    """Fail in mypy if a member of the document lost its type."""
    assert_type(quote.sell_amount, str)
    assert_type(quote.scoring.net_value_usd, float)
    assert_type(quote.mev_protection.transaction_params.nonce, int)
    assert_type(quote.mev_protection.transaction_params.gas_limit, str)


if __name__ == "__main__":
    order = swap(10**17)
    result = {
        "order": {"id": order.order_id, "status": order.status, "txHash": order.tx_hash},
        "history": history(1),
        "wrap": wrap("0.2"),
        "error": invalid_amount("0"),
    }
    print(json.dumps(result))
