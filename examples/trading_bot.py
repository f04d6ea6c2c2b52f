"""Sell WETH for USDC in parts, each only within limits: python examples/trading_bot.py

LIMIT_PRICE is the lowest price in USDC for one WETH. TOTAL_WETH (default 0.3) is sold in parts of
PART_WETH (default 0.1), in each run anew: it does not count what an earlier run sold. Exit codes:

0: all parts are sold. The last one may have delivered less than its minimum.
1: not all parts are sold. Too many quotes were outside the limits, a setting is wrong, an order
   that failed may still be mined, or a part delivered less than its minimum.
2: the outcome of a swap is not known (MayBeMined), or the client raised another error.
"""

import os
import sys
import time
from decimal import Decimal, InvalidOperation

from eth_account import Account
from eth_account.signers.local import LocalAccount

from quietswap.client import (
    WETH,
    ApiError,
    ClientError,
    NeverMined,
    PollingPolicy,
    QuietswapClient,
    QuoteDeclined,
    ServiceUnreachable,
    SwapRequest,
    UnsafeQuote,
)
from quietswap.contract.quotes import SwapQuoteResponse

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
SETTINGS = ("QUIETSWAP_URL", "QUIETSWAP_API_KEY", "QUIETSWAP_RPC_URL", "QUIETSWAP_PRIVATE_KEY")
WETH_UNIT, USDC_UNIT = 10**18, 10**6


def setting(name: str, default: str) -> Decimal:
    """Return a setting, which must be a number above zero; end the program at any other text."""
    text = os.environ.get(name, default)
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal(0)
    if not (number.is_finite() and number > 0):
        sys.exit(f"{name} must be a number above 0, not {text!r}")
    return number


if not os.environ.get("LIMIT_PRICE"):
    sys.exit("set LIMIT_PRICE: the lowest price to sell for, in USDC for one WETH")
LIMIT_PRICE = setting("LIMIT_PRICE", "")
TOTAL = int(setting("TOTAL_WETH", "0.3") * WETH_UNIT)
PART = int(setting("PART_WETH", "0.1") * WETH_UNIT)
PAUSE_S = float(setting("PAUSE_SECONDS", "12"))
"""Between two attempts: one block."""
MOST_ATTEMPTS = 5
"""Attempts in a row without a swap; then the bot ends."""
MOST_FEE_WEI = 10**16
MOST_IMPACT_PERCENT = Decimal(1)
MOST_GAS_SHARE = Decimal("0.05")
"""Highest gas cost, as a share of the value of what a quote brings."""


def is_good(quote: SwapQuoteResponse) -> bool:
    """Return whether to sign: the route was simulated, and gas is a small part of its value."""
    scoring = quote.scoring
    gas_share = scoring.gas_cost_usd / max(scoring.net_value_usd, Decimal("0.01"))
    faults = {
        "it was not simulated": not quote.is_verified,
        "its value is unknown": not scoring.price_available,
        "gas costs too much": gas_share > MOST_GAS_SHARE,
        "the MEV threat is not known": not quote.mev_analysis.known,
    }
    for fault, is_present in faults.items():
        if is_present:
            print("refused:", fault)
    return not any(faults.values())


def request(wallet: str, amount: int) -> SwapRequest:
    """Return the next swap with all its limits. The client checks them before it signs."""
    return SwapRequest(
        WETH,
        USDC,
        amount,
        wallet,
        at_least=int(LIMIT_PRICE * amount * USDC_UNIT / WETH_UNIT),
        max_impact_percent=MOST_IMPACT_PERCENT,
        max_fee_wei=MOST_FEE_WEI,
        accept=is_good,
    )


def finish_open_orders(client: QuietswapClient, wallet: str) -> None:
    """Wait for what an earlier run has submitted: its nonces and amounts are not free yet."""
    for order in client.order_history(wallet).orders:
        if order.status in {"pending", "submitted", "mining"}:
            print("open from an earlier run:", order.order_id)
            print(client.follow(order.order_id).status, order.order_id)


def sell(client: QuietswapClient, account: LocalAccount) -> int:
    """Sell part by part; return how much was sold in wei of WETH."""
    sold = attempts = 0
    while sold < TOTAL and attempts < MOST_ATTEMPTS:
        if attempts:
            time.sleep(PAUSE_S)
        attempts += 1
        amount = min(PART, TOTAL - sold)
        try:
            result = client.swap(request(account.address, amount), account)
        except (QuoteDeclined, UnsafeQuote, NeverMined) as refusal:
            print("refused:", refusal)
            continue
        except (ApiError, ServiceUnreachable) as error:
            if not error.is_transient:
                raise
            print("later:", error)
            continue
        print(result.status.status, result.status.tx_hash, "received", result.received)
        if result.status.status == "confirmed":
            sold, attempts = sold + amount, 0
        if result.may_be_mined or result.fell_short:
            break  # another swap could sell twice, or lose again: a person decides
    return sold


def main() -> int:
    """Sell; return the exit code."""
    env = os.environ
    if missing := [name for name in SETTINGS if not env.get(name)]:
        sys.exit(f"set {', '.join(missing)}: see examples/README.md")
    account = Account.from_key(env["QUIETSWAP_PRIVATE_KEY"])
    with QuietswapClient(
        env["QUIETSWAP_URL"],
        env["QUIETSWAP_API_KEY"],
        rpc_url=env["QUIETSWAP_RPC_URL"],
        polling=PollingPolicy(node_interval_s=float(env.get("POLL_SECONDS", "2"))),
    ) as client:
        try:
            finish_open_orders(client, account.address)
            sold = sell(client, account)
        except ClientError as error:  # MayBeMined and all others: do not sign again
            print("stopped:", error, file=sys.stderr)
            return 2
    print("sold", Decimal(sold) / WETH_UNIT, "of", Decimal(TOTAL) / WETH_UNIT, "WETH")
    return 0 if sold == TOTAL else 1


if __name__ == "__main__":
    sys.exit(main())
