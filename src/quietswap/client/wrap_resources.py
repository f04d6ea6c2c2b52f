"""The resources of wrapping and unwrapping as typed values."""

from datetime import datetime
from typing import Literal

import msgspec

from quietswap.client.resources import MevProtection, OrderState
from quietswap.client.wire import Amount, Resource

WrapOperation = Literal["wrap", "unwrap"]


class WrapQuote(Resource, frozen=True):
    """A wrap or unwrap, 1:1, valid for five minutes; `amount` in ETH, `deadline` in Unix s."""

    quote_id: str
    operation: WrapOperation
    amount: str
    amount_wei: Amount
    input_token: str
    output_token: str
    mev_protection: MevProtection
    deadline: int
    estimated_gas: Amount
    created_at: datetime
    valid_until: datetime

    def with_nonce(self, nonce: int) -> "WrapQuote":
        """Return the quote with the nonce that it leaves to the client."""
        params = msgspec.structs.replace(self.mev_protection.transaction_params, nonce=nonce)
        protection = msgspec.structs.replace(self.mev_protection, transaction_params=params)
        return msgspec.structs.replace(self, mev_protection=protection)


class WrapOrder(Resource, frozen=True):
    """A submitted wrap or unwrap, tracked by its hash; `amount` in ETH."""

    operation: WrapOperation
    tx_hash: str
    sender: str = msgspec.field(name="from")
    amount: str
    status: OrderState
    provider: str
    tracking_url: str
    explorer_url: str
    submitted_at: datetime | None


class WethToken(Resource, frozen=True):
    """The WETH contract."""

    address: str
    name: str
    symbol: str
    decimals: int
    chain_id: int


class Balance(Resource, frozen=True):
    """One balance, in wei and formatted in ether."""

    wei: Amount
    ether: str


class Balances(Resource, frozen=True):
    """A wallet's two balances."""

    eth: Balance
    weth: Balance


class OperationInfo(Resource, frozen=True):
    """`max_amount` is the balance in ether that the operation could convert."""

    description: str
    max_amount: str


class Operations(Resource, frozen=True):
    """Both directions."""

    wrap: OperationInfo
    unwrap: OperationInfo


class WrapInfo(Resource, frozen=True):
    """What a wallet could wrap and unwrap."""

    weth: WethToken
    balances: Balances
    operations: Operations
