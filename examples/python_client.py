"""Wrap 0.2 ETH, then swap 0.1 WETH for USDC, with the typed client."""

import os
import sys

from eth_account import Account

from quietswap.client import QuietswapClient
from quietswap.client.errors import ClientError
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.wrap import WETH

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
SETTINGS = ("QUIETSWAP_URL", "QUIETSWAP_API_KEY", "QUIETSWAP_RPC_URL", "QUIETSWAP_PRIVATE_KEY")


def main() -> int:
    """Run both flows; 0 when both are confirmed."""
    env = os.environ
    if missing := [name for name in SETTINGS if not env.get(name)]:
        sys.exit(f"set {', '.join(missing)}: see examples/README.md")
    try:
        account = Account.from_key(env["QUIETSWAP_PRIVATE_KEY"])
    except ValueError:
        sys.exit("QUIETSWAP_PRIVATE_KEY must be a private key")
    try:
        poll = float(env.get("POLL_SECONDS", "10"))
        client = QuietswapClient(
            env["QUIETSWAP_URL"],
            env["QUIETSWAP_API_KEY"],
            rpc_url=env["QUIETSWAP_RPC_URL"],
            polling=PollingPolicy(interval_s=poll, node_interval_s=poll),
        )
    except ValueError as error:
        sys.exit(f"{', '.join(SETTINGS[:3])} or POLL_SECONDS is wrong: {error}")
    request = SwapRequest(WETH, USDC, 10**17, account.address)
    with client:
        try:
            wrapped = client.wrap("0.2", account)
            print("wrap confirmed", wrapped.order.tx_hash)
            swapped = client.swap(request, account)
        except ClientError as error:
            print(error, file=sys.stderr)
            return 1
    print("swap", swapped.status.status, swapped.status.tx_hash)
    print("received", swapped.received, "of", swapped.quote.buy_amount, "promised")
    return 0 if swapped.succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
