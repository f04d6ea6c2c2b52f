"""Sell WETH for USDC in parts, each only within limits: python examples/trading_bot.py

LIMIT_PRICE is the lowest price in USDC for one WETH. The bot sells until the wallet holds
KEEP_WETH, in equal parts of at most PART_WETH (default 0.1), and waits PAUSE_SECONDS (default 12)
after an attempt without a swap. What is left to sell follows from the wallet's balance, so a bot
that is killed and started again sells no more than one run. WETH that arrives during a run is left
for the next one. Exit codes:

0: of what was above KEEP_WETH at the start, nothing is left to sell.
1: something is. Five attempts in a row ended without a swap, or a variable is missing or wrong.
2: a person must decide: the outcome of a swap is not known (MayBeMined), an order that failed may
   still be mined, a part delivered less than its minimum, standard output was closed, or the client
   raised another error.
130: Ctrl-C. An order under way goes on; the next run waits for its end before it sells.
"""

import io
import os
import sys
import time
from decimal import ROUND_CEILING, Decimal, InvalidOperation

from eth_account import Account
from eth_account.signers.local import LocalAccount

from quietswap.client import QuietswapClient, node_calls
from quietswap.client.errors import (
    ApiError,
    ClientError,
    InsufficientLiquidity,
    NeverMined,
    NodeRpcError,
    NodeUnreachable,
    QuoteDeclined,
    ServiceUnreachable,
    UnsafeQuote,
)
from quietswap.client.flows.approvals import ApprovalSent
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.submission_outcome import OutcomeWatch
from quietswap.client.flows.swap import SwapResult
from quietswap.client.flows.wrap import WETH
from quietswap.contract.orders import OrderStatusResponse, SwapOrderResponse
from quietswap.contract.quotes import SwapQuoteResponse

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
SETTINGS = ("QUIETSWAP_URL", "QUIETSWAP_API_KEY", "QUIETSWAP_RPC_URL", "QUIETSWAP_PRIVATE_KEY")
WETH_UNIT, USDC_UNIT = 10**18, 10**6
MOST_WETH = 10
"""More to sell in one run is refused: it is probably a typing error in KEEP_WETH."""


def setting(name: str, least: str, most: str, default: str = "") -> Decimal:
    """Return a setting, a number in this range; end the program at any other text."""
    text = os.environ.get(name) or default
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if not (number.is_finite() and Decimal(least) <= number <= Decimal(most)):
        sys.exit(f"{name} must be a number from {least} to {most}, not {text[:40]!r}")
    return number


for name, what in {
    "LIMIT_PRICE": "the lowest price to sell for, in USDC for one WETH",
    "KEEP_WETH": "the WETH that the wallet keeps; the bot sells the rest",
}.items():
    if not os.environ.get(name):
        sys.exit(f"set {name}: {what}")
LIMIT_PRICE = setting("LIMIT_PRICE", "0.000001", "1000000000")
KEEP = int(setting("KEEP_WETH", "0", "1000000000") * WETH_UNIT)
PART = int(setting("PART_WETH", "0.000001", str(MOST_WETH), "0.1") * WETH_UNIT)
PAUSE_S = float(setting("PAUSE_SECONDS", "0.1", "86400", "12"))
"""Between two attempts: one block."""
POLL_S = float(setting("POLL_SECONDS", "0.1", "60", "2"))
"""Between two requests for a receipt at your own node."""
STILL_OPEN_S = 60
"""An order whose status does not change is printed again after this time."""
REFUSALS = (QuoteDeclined, UnsafeQuote, NeverMined, InsufficientLiquidity)
"""Nothing was sold, and a later quote may be better."""
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


def request(client: QuietswapClient, wallet: str, amount: int) -> SwapRequest:
    """Return the next swap with all its limits. The client checks them before it signs."""
    least = LIMIT_PRICE * amount * USDC_UNIT / WETH_UNIT
    return SwapRequest(
        WETH,
        USDC,
        amount,
        wallet,
        at_least=int(least.to_integral_value(ROUND_CEILING)),
        max_impact_percent=MOST_IMPACT_PERCENT,
        max_fee_wei=MOST_FEE_WEI,
        accept=lambda quote: is_good(quote) and is_left(client, wallet, amount, quote),
    )


def left_to_sell(client: QuietswapClient, wallet: str) -> int:
    """Return how much WETH is above KEEP_WETH, in wei.

    The lower of two balances counts: your node or the service's may be a few blocks behind.
    """
    held = [client.node(node_calls.token_balance(WETH, wallet))]
    for token in client.balances(wallet, (WETH,)).tokens:
        held += [int(token.balance)] if token.balance is not None else []
    return max(min(held) - KEEP, 0)


def is_left(client: QuietswapClient, wallet: str, amount: int, quote: SwapQuoteResponse) -> bool:
    """Return whether so much is above KEEP_WETH when the quote is signed.

    An approval may have waited for its block since the last look. At one block of your node, all
    transactions below the quote's nonce must be mined, so that the balance of that block shows
    them. One that is mined later has this nonce, and then the swap cannot be mined.
    """
    block = hex(client.node(node_calls.latest_block()).number)
    try:
        nonce = client.node(node_calls.nonce(wallet, block))
        left = client.node(node_calls.token_balance(WETH, wallet, block)) - KEEP
    except (NodeRpcError, NodeUnreachable) as error:  # one of several behind the address is late
        print("refused: your node cannot show block", int(block, 16), error)
        return False
    if nonce != quote.mev_protection.transaction_params.nonce:
        print("refused: another transaction of the wallet waits for its block")
        return False
    if left < amount:
        print("refused: no more than", Decimal(max(left, 0)) / WETH_UNIT, "WETH is left to sell")
    return left >= amount


class Progress:
    """Prints each change of one swap, and now and then that its order is still open."""

    def __init__(self) -> None:
        self._said: str | None = None
        self._said_at = 0.0

    def __call__(self, event: object) -> None:
        if isinstance(event, ApprovalSent):
            print("approval", event.tx_hash, "waits for its block")
        elif isinstance(event, SwapOrderResponse):
            print("order", event.order.order_id, event.order.tx_hash)
        elif isinstance(event, OutcomeWatch):
            print(f"{event.why}: watching your node for {event.seconds:.0f} s")
        elif isinstance(event, OrderStatusResponse) and not event.is_terminal:
            now = time.monotonic()
            if event.status != self._said or now - self._said_at >= STILL_OPEN_S:
                print(event.status, event.order_id)
                self._said, self._said_at = event.status, now


def trouble(error: ClientError, seconds: float) -> None:
    """Print what the client waits for."""
    print(f"again in {seconds:.0f} s: {error}")


def finish_open_orders(client: QuietswapClient, wallet: str) -> None:
    """Wait for what an earlier run has submitted: its nonces and amounts are not free yet."""
    for status in ("pending", "submitted", "mining"):  # in this order, an order cannot slip past
        for order in client.order_history(wallet, limit=200, status=status, kind="any").orders:
            print("open from an earlier run:", order.order_id)
            print(client.follow(order.order_id, Progress()).status, order.order_id)


def sell(client: QuietswapClient, account: LocalAccount) -> int:
    """Sell part by part; return the exit code."""
    left, attempts = None, 0
    while left != 0 and attempts < MOST_ATTEMPTS:
        if attempts:
            time.sleep(PAUSE_S)
        attempts += 1
        try:
            finish_open_orders(client, account.address)
            found = left_to_sell(client, account.address)
            left = begun(found) if left is None else min(left, found)
            if left == 0:
                break
            parts = -(-left // PART)
            amount = -(-left // parts)
            wish = request(client, account.address, amount)
            result = client.swap(wish, account, Progress())
        except REFUSALS as refusal:
            print("refused:", refusal)
            continue
        except (ApiError, ServiceUnreachable) as error:
            if not error.is_transient:
                raise
            print("later:", error)
            continue
        tell(result, amount)
        if result.may_be_mined or result.fell_short:
            what = "may still be mined" if result.may_be_mined else "delivered too little"
            print("stopped: the swap", what, file=sys.stderr)
            return 2  # another swap could sell twice, or lose again
        if result.succeeded:
            left, attempts = left - amount, 0
    if left is not None:
        print("left to sell:", Decimal(left) / WETH_UNIT, "WETH")
    return 0 if left == 0 else 1


def begun(left: int) -> int:
    """Print what this run is to sell, in wei. End the program if that is very much."""
    print("to sell:", Decimal(left) / WETH_UNIT, "WETH; to keep:", Decimal(KEEP) / WETH_UNIT)
    if left > MOST_WETH * WETH_UNIT:
        sys.exit(f"that is more than {MOST_WETH} WETH: check KEEP_WETH, or change MOST_WETH")
    return left


def tell(result: SwapResult, amount: int) -> None:
    """Print how a swap of this amount in wei ended."""
    print(result.status.status, result.status.tx_hash)
    if result.received is not None:
        received = Decimal(result.received) / USDC_UNIT
        print("sold", Decimal(amount) / WETH_UNIT, "WETH for", received, "USDC")


def main() -> int:
    """Sell; return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a log shows each line at once
    env = os.environ
    if missing := [name for name in SETTINGS if not env.get(name)]:
        sys.exit(f"set {', '.join(missing)}: see examples/README.md")
    try:
        account = Account.from_key(env["QUIETSWAP_PRIVATE_KEY"])
    except ValueError:
        sys.exit("QUIETSWAP_PRIVATE_KEY is not a private key")
    polling = PollingPolicy(patience_s=None, node_interval_s=POLL_S, on_trouble=trouble)
    try:
        client = QuietswapClient(
            env["QUIETSWAP_URL"],
            env["QUIETSWAP_API_KEY"],
            rpc_url=env["QUIETSWAP_RPC_URL"],
            polling=polling,
        )
    except ValueError as error:
        sys.exit(f"{' or '.join(SETTINGS[:3])} is wrong: {error}")
    with client:
        try:
            return sell(client, account)
        except ClientError as error:  # MayBeMined and all others: do not sign again
            print("stopped:", error, file=sys.stderr)
            return 2
        except BrokenPipeError:  # of standard output; its buffer must not fail once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 2
        except KeyboardInterrupt:
            print("interrupted: an order under way goes on", file=sys.stderr)
            return 130


if __name__ == "__main__":
    sys.exit(main())
