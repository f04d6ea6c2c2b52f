"""An owner of a Safe swaps for it: python examples/safe_owner.py SAFE 0.05

The owner's own wallet sells WETH that the Safe has sent to it before, and sends the USDC that
arrived to the Safe. Between these two steps the owner alone holds the money. A Safe cannot swap by
itself here, see docs/cookbook.md. If the program ends after the swap, `--only-return AMOUNT` sends
that many USDC units to the Safe.
"""

import argparse
import sys
from decimal import Decimal, InvalidOperation
from typing import Any

from eth_utils import to_checksum_address
from python_flow import KEY, NODE, URL, USDC, account, mined, next_nonce, rpc, signed, wallet

from quietswap.client import QuietswapClient
from quietswap.client.errors import ClientError
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.wrap import WETH

IS_OWNER, BALANCE_OF, TRANSFER = "0x2f54bf6e", "0x70a08231", "0xa9059cbb"
"""Selectors of isOwner(address), balanceOf(address) and transfer(address,uint256)."""


def whole_weth(text: str) -> Decimal:
    """Return an amount above 0. Raises ArgumentTypeError."""
    try:
        amount = Decimal(text)
        if amount.is_finite() and amount * 10**18 >= 1:
            return amount
    except InvalidOperation:
        pass
    raise argparse.ArgumentTypeError(f"{text} is no amount of WETH")


def word(value: str | int) -> str:
    """Return an address or a number as 32 bytes of calldata."""
    return f"{value:064x}" if isinstance(value, int) else f"{value[2:].lower():0>64}"


def view(to: str, data: str) -> int:
    """Return the number that a contract answers with; 0 if it answers with nothing."""
    answer: str = rpc("eth_call", {"to": to, "data": data}, "latest")
    return int(answer, 16) if len(answer) > 2 else 0


def check_safe(safe: str) -> None:
    """Refuse an address that is no contract, or no Safe of this owner."""
    if rpc("eth_getCode", safe, "latest") == "0x":
        sys.exit(f"{safe} has no code: it is no Safe")
    if view(safe, IS_OWNER + word(wallet)) != 1:
        sys.exit(f"{wallet} is not an owner of {safe}")


def swap(amount: int) -> int:
    """Sell wei of WETH of the owner's wallet; return the USDC units that arrived."""
    request = SwapRequest(WETH, USDC, amount, wallet, max_impact_percent=Decimal(1))
    with QuietswapClient(URL, KEY["X-API-Key"], rpc_url=NODE) as client:
        try:
            result = client.swap(request, account)
        except ClientError as error:
            sys.exit(str(error))
    print("swap", result.status.status, result.status.tx_hash)
    if not result.succeeded or result.received is None:
        sys.exit(f"received {result.received}: look at the wallet before anything else is sent")
    return result.received


def send_to_safe(safe: str, amount: int) -> None:
    """Transfer USDC units to the Safe with an ordinary transaction: a transfer has no price."""
    tip = int(rpc("eth_maxPriorityFeePerGas"), 16)
    base = int(rpc("eth_getBlockByNumber", "latest", False)["baseFeePerGas"], 16)
    call = {"to": USDC, "data": TRANSFER + word(safe) + word(amount)}
    params: dict[str, Any] = {
        **call,
        "value": "0",
        "gasLimit": str(int(rpc("eth_estimateGas", {"from": wallet, **call}), 16) * 5 // 4),
        "maxFeePerGas": str(2 * base + tip),
        "maxPriorityFeePerGas": str(tip),
        "nonce": next_nonce(),
        "chainId": 1,
        "type": 2,
    }
    tx_hash = rpc("eth_sendRawTransaction", signed(params))
    mined(tx_hash)
    print("returned", amount, "USDC units to", safe, tx_hash)


def main() -> None:
    """Check the Safe, swap, and send what arrived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("safe", type=to_checksum_address)
    parser.add_argument("weth", type=whole_weth, nargs="?")
    parser.add_argument("--only-return", type=int, metavar="AMOUNT")
    given = parser.parse_args()
    if (given.weth is None) == (given.only_return is None):
        parser.error("give either an amount of WETH or --only-return")
    check_safe(given.safe)
    if given.weth is not None and view(WETH, BALANCE_OF + word(wallet)) < given.weth * 10**18:
        sys.exit(f"{wallet} has less than {given.weth} WETH: the Safe sends it first")
    amount = given.only_return if given.weth is None else swap(int(given.weth * 10**18))
    send_to_safe(given.safe, amount)


if __name__ == "__main__":
    main()
