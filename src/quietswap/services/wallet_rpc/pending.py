"""Open orders as the wallet RPC reports them: pending transactions and the next nonce."""

from quietswap.domain.address import Address
from quietswap.domain.transaction.pending_json import pending_json
from quietswap.domain.transaction.signed import decode
from quietswap.ports.stores import OrderStore
from quietswap.ports.wallet_rpc import WalletRpcToken


class PendingTransaction:
    """eth_getTransactionByHash for a transaction that the node does not know."""

    def __init__(self, orders: OrderStore) -> None:
        self._orders = orders

    async def __call__(self, token: WalletRpcToken, tx_hash: str) -> dict[str, object] | None:
        """Return the pending object of an open order of the token's client and wallets.

        None for any other hash, and once the order has ended: only the node says what is mined.
        Raises StoreUnavailable.
        """
        order = await self._orders.by_hash(tx_hash.lower())
        if order is None or order.client_id != token.client_id or order.wallet not in token.wallets:
            return None
        if order.status.is_terminal or order.raw is None:
            return None
        return pending_json(decode("0x" + order.raw.hex()))


class PendingNonce:
    """The part of eth_getTransactionCount `pending` that the node cannot know."""

    def __init__(self, orders: OrderStore) -> None:
        self._orders = orders

    async def __call__(self, token: WalletRpcToken, wallet: Address) -> int | None:
        """Return the largest nonce of the client's open orders of this wallet plus one.

        None without such an order, and for a wallet of which the token knows nothing. Raises
        StoreUnavailable.
        """
        if wallet not in token.wallets:
            return None
        own = await self._orders.own_nonces(token.client_id, wallet)
        return max(own.live) + 1 if own.live else None
