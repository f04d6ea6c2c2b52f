"""The wallet's part of `wallet_backend.py`: it has the key, shows what it signs, and signs it.

Sells 0.01 WETH for USDC through the server at BACKEND_URL. It sends its approval through its own
node, and gives the server nothing but signed bytes.
"""

import sys
import time
from typing import Any

from python_flow import (
    POLL,
    TERMINAL,
    USDC,
    WETH,
    NoAnswer,
    approve,
    base_url,
    fetch,
    setting,
    signed,
    wallet,
)

from quietswap.client.flows.quote_checks import ROUTERS
from quietswap.client.signing import hash_of

BACKEND = setting(
    "BACKEND_URL", base_url, "an http:// or https:// address", "http://127.0.0.1:9100"
)
AMOUNT = 10**16
MOST_FEE_WEI = 10**16
PATIENCE = 300
SUBMISSIONS = 3


def quoted() -> Any:
    """Ask the server for a quote."""
    pair = {"sellToken": WETH, "buyToken": USDC}
    quote = fetch(f"{BACKEND}/quotes", {}, {"wallet": wallet, "sellAmount": str(AMOUNT), **pair})
    if not isinstance(quote, dict) or "transaction" not in quote:
        sys.exit(f"no quote: {quote}")
    check(quote["transaction"])
    return quote


def check(transaction: dict[str, Any]) -> None:
    """Refuse what a swap of this app never is: another target, ETH, another chain, a high fee.

    It trusts the server for the calldata. `QuietswapClient.swap` trusts no server: it decodes it.
    """
    try:
        gas, price = int(transaction["gasLimit"]), int(transaction["maxFeePerGas"])
        is_swap = transaction["to"].lower() in {router.lower() for router in ROUTERS}
        is_plain = transaction["value"] == "0" and transaction["chainId"] == 1
    except (AttributeError, KeyError, TypeError, ValueError):
        sys.exit(f"not signed: {transaction}")
    if not (is_swap and is_plain and gas > 0 and 0 < gas * price <= MOST_FEE_WEI):
        sys.exit(f"not signed: {transaction}")


def submitted(body: dict[str, str]) -> Any:
    """Hand the signed bytes over. Without an answer the same bytes are sent again: one order."""
    for _ in range(SUBMISSIONS):
        try:
            order = fetch(f"{BACKEND}/orders", {}, body)
        except NoAnswer:
            order = None
        if isinstance(order, dict) and "orderId" in order:
            return order
        if isinstance(order, dict) and order.get("error") != "NO_ANSWER":
            sys.exit(f"not submitted: {order}")
        time.sleep(POLL)
    tx_hash = hash_of(body["signedTransaction"])
    sys.exit(f"nobody said whether {tx_hash} is submitted: look for it before you sign again")


def decided(order_id: str) -> Any:
    """Wait until the server has heard how the order ended."""
    deadline = time.monotonic() + PATIENCE
    while (order := fetch(f"{BACKEND}/orders/{order_id}", {}) or {}).get("status") not in TERMINAL:
        if time.monotonic() > deadline:
            sys.exit(f"{order_id} is still open")
        time.sleep(POLL)
    return order


def main() -> None:
    """Approve if needed, sign, hand over, and wait."""
    quote = quoted()
    while quote["needsApproval"] and approve(quote["transaction"]["to"], AMOUNT):
        quote = quoted()  # the approval used the nonce of the first one
    print("at least", quote["minBuyAmount"], "USDC units for", AMOUNT, "wei of WETH")
    body = {"quoteId": quote["quoteId"], "signedTransaction": signed(quote["transaction"])}
    order = submitted(body)
    end = decided(order["orderId"])
    print("swap", end["status"], end["txHash"])
    if end["status"] != "confirmed":
        sys.exit(1)


if __name__ == "__main__":
    main()
