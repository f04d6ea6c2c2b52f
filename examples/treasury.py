"""Sell WETH for USDC with a key in an encrypted file: python examples/treasury.py FILE 0.05

FILE is a keystore of geth, of most wallets or of `eth_account.Account.encrypt`. The password is
the content of --password-file, or it is asked for on the terminal. Neither the key nor the password
is printed, and neither is in the environment or in an argument, where other processes can read it.
"""

import argparse
import getpass
import json
import os
import stat
import sys
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path

from eth_account import Account
from eth_account.signers.local import LocalAccount

from quietswap.client import QuietswapClient
from quietswap.client.errors import ClientError
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.wrap import WETH
from quietswap.contract.quotes import SwapQuoteResponse

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
SETTINGS = ("QUIETSWAP_URL", "QUIETSWAP_API_KEY", "QUIETSWAP_RPC_URL")
MOST_IMPACT_PERCENT = Decimal(1)
MOST_WETH = Decimal(10)
"""A larger amount in one call is refused: it is probably a typing error."""


def password(file: Path | None) -> str:
    """Return the password of a file that only its owner can read, or ask for it."""
    if file is None:
        return getpass.getpass("password of the keystore: ")
    if file.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        sys.exit(f"other users can read {file}: chmod 600 {file}")
    return file.read_text("utf-8").rstrip("\r\n")


def unlocked(keystore: Path, password_file: Path | None) -> LocalAccount:
    """Decrypt the key. It stays in this process."""
    try:
        sealed = json.loads(keystore.read_text("utf-8"))
        account: LocalAccount = Account.from_key(Account.decrypt(sealed, password(password_file)))
    except OSError as error:
        sys.exit(f"{error.filename} cannot be read: {error.strerror}")
    except (ValueError, TypeError, KeyError):
        sys.exit(f"{keystore} cannot be decrypted: wrong password, or not a keystore")
    return account


def whole_weth(text: str) -> Decimal:
    """Return an amount above 0, at most MOST_WETH. Raises ArgumentTypeError."""
    try:
        amount = Decimal(text)
        if 0 < amount <= MOST_WETH:
            return amount
    except InvalidOperation:  # also of a comparison with "nan"
        pass
    raise argparse.ArgumentTypeError(f"{text} is not between 0 and {MOST_WETH}")


def accept(quote: SwapQuoteResponse, *, ask: bool) -> bool:
    """Show the quote, and ask unless `--yes` is given. A quote lives 30 seconds."""
    least = Decimal(quote.min_buy_amount) / 10**6
    print(f"{quote.source}: at least {least} USDC, gas about {quote.scoring.gas_cost_usd} USD")
    if not quote.is_verified or not ask:
        return quote.is_verified
    try:
        return input("sign? [y/N] ").strip().lower() == "y"
    except EOFError:
        return False


def main() -> int:
    """Sell once; 0 when the swap is confirmed and delivered its minimum."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("keystore", type=Path)
    parser.add_argument("weth", type=whole_weth)
    parser.add_argument("--password-file", type=Path)
    parser.add_argument("--yes", action="store_true", help="sign within the limits, do not ask")
    given = parser.parse_args()
    env = os.environ
    if missing := [name for name in SETTINGS if not env.get(name)]:
        sys.exit(f"set {', '.join(missing)}: see examples/README.md")
    account = unlocked(given.keystore, given.password_file)
    print("selling", given.weth, "WETH of", account.address)
    request = SwapRequest(
        WETH,
        USDC,
        int(given.weth * 10**18),
        account.address,
        max_impact_percent=MOST_IMPACT_PERCENT,
        accept=partial(accept, ask=not given.yes),
    )
    with QuietswapClient(
        env["QUIETSWAP_URL"], env["QUIETSWAP_API_KEY"], rpc_url=env["QUIETSWAP_RPC_URL"]
    ) as client:
        try:
            result = client.swap(request, account)
        except ClientError as error:  # its text says whether something was sent
            print(error, file=sys.stderr)
            return 1
    print("swap", result.status.status, result.status.tx_hash, "received", result.received)
    return 0 if result.succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
