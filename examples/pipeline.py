"""Submit three swaps of one wallet one after another, and only then wait for all of them.

Each quote counts past the orders that are still open, so its nonce is the next one. An approval is
an ordinary transaction with the node's nonce, which knows nothing of open orders: it is sent only
while none is open.
"""

import sys
import time
from typing import Any

from python_flow import (
    POLL,
    TERMINAL,
    WETH,
    approve,
    ask,
    check_swap,
    order_params,
    quoted,
    rpc,
    signed,
    wallet,
)

EACH, COUNT = 10**16, 3
PER_MINUTE = 300
"""Requests a minute and key, unless the operator set another `server.rate_limit`."""
PATIENCE = 300


def may_move(router: str) -> bool:
    """Return whether the router may take one more swap's WETH."""
    data = f"0xdd62ed3e{wallet[2:].lower():0>64}{router[2:].lower():0>64}"
    return int(rpc("eth_call", {"to": WETH, "data": data}, "latest"), 16) >= EACH * COUNT


def submit(quote: Any) -> str:
    """Sign and submit a quote at once; return the order's id."""
    params = check_swap(quote, EACH)
    body = {
        "orderParams": order_params(quote, 50),
        "signedTransaction": signed(params),
        "providerMetadata": quote["mevProtection"]["providerMetadata"],
    }
    order_id: str = ask("/mev/orders", body)["order"]["orderId"]
    print("submitted", order_id, "nonce", params["nonce"])
    return order_id


def follow(order_ids: list[str]) -> dict[str, str]:
    """Poll all orders until each is decided, with at most half of the requests a key has."""
    pause = max(POLL, len(order_ids) * 60 / (PER_MINUTE / 2))
    states = dict.fromkeys(order_ids, "submitted")
    deadline = time.monotonic() + PATIENCE
    while any(state not in TERMINAL for state in states.values()):
        if time.monotonic() > deadline:
            sys.exit(f"still open: {states}")
        time.sleep(pause)
        for order_id, state in states.items():
            if state not in TERMINAL:
                states[order_id] = ask(f"/mev/orders/{order_id}")["status"]
    return states


def main() -> None:
    """Submit all, with a wait only where a quote names a router that has no allowance yet."""
    states: dict[str, str] = {}
    still_open: list[str] = []
    for _ in range(COUNT):
        quote = quoted(EACH)
        while not may_move(quote["dexRoute"]["target"]):
            states |= follow(still_open)
            still_open.clear()
            approve(quote["dexRoute"]["target"], EACH * COUNT * 2)
            quote = quoted(EACH)
        still_open.append(submit(quote))
    states |= follow(still_open)
    for order_id, state in states.items():
        print("swap", state, order_id)
    if set(states.values()) != {"confirmed"}:
        sys.exit(1)


if __name__ == "__main__":
    main()
