"""What tests of eth_sendRawTransaction do: tokens, signed transactions, and refusals caught."""

from typing import Any

import pytest

from quietswap.rules.errors.base import RequestError
from quietswap.rules.orders.order import Order
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address
from quietswap.rules.wallet_rpc_token import UnmatchedPolicy, WalletRpcToken
from quietswap.service.wallet_rpc.send import NOT_SENT_ANYWHERE
from tests.orders.submitting import Desk
from tests.signing import ROUTER, WALLET, sign
from tests.stored_orders import CLIENT_ID

GWEI = 10**9
SELF = Address(WALLET.address)


def token(unmatched: UnmatchedPolicy = "refuse", client_id: str = CLIENT_ID) -> WalletRpcToken:
    """Return a token of the test's key that is bound to the test's wallet."""
    return WalletRpcToken(
        id="rpc_1",
        client_id=client_id,
        name="mine",
        wallets=frozenset({SELF}),
        unmatched=unmatched,
        created_at_ms=0,
        revoked_at_ms=None,
        key_id="key-1",
    )


def approve(spender: str = ROUTER, amount: int = 10**18, **changes: Any) -> str:
    """Return a signed approval of WETH, as a wallet fills it."""
    data = "0x095ea7b3" + spender[2:].lower().rjust(64, "0") + f"{amount:064x}"
    return sign(**({"to": WETH, "data": data, "gas": 60_000} | changes))


def deposit(amount: int = 10**17, **changes: Any) -> str:
    """Return a signed wrap."""
    fields = {"to": WETH, "data": "0xd0e30db0", "value": amount, "gas": 60_000}
    return sign(**(fields | changes))


def withdraw(amount: int = 10**17, **changes: Any) -> str:
    """Return a signed unwrap."""
    fields = {"to": WETH, "data": f"0x2e1a7d4d{amount:064x}", "gas": 60_000}
    return sign(**(fields | changes))


def empty(**changes: Any) -> str:
    """Return a signed empty self-transfer."""
    return sign(**({"to": SELF, "data": "0x", "gas": 21_000} | changes))


async def only_order(desk: Desk) -> Order:
    """Return the one order that is tracked."""
    [order] = await desk.storage.orders.watched()
    return order


async def refused(desk: Desk, raw: str, by: WalletRpcToken | None = None) -> RequestError:
    """Return the error of a transaction of which no relay may get a byte."""
    before = list(desk.relay.sent)
    with pytest.raises(RequestError) as error:
        await desk.send(by or token(), raw)
    assert error.value.message.startswith(NOT_SENT_ANYWHERE)
    assert desk.relay.sent == before
    return error.value


async def reason_of(desk: Desk, raw: str, by: WalletRpcToken | None = None) -> str:
    """Return `details.reason` of a refused transaction."""
    details = (await refused(desk, raw, by)).details
    assert details is not None
    return str(details["reason"])
