"""An order of a client for a transaction of the chain, by its hash: what an operator asks for."""

from dataclasses import dataclass

from quietswap.rules.chain.node_reads import transaction
from quietswap.rules.chain.records import ChainReader
from quietswap.rules.orders.new_order import OrderTimeouts
from quietswap.rules.orders.order import Order
from quietswap.rules.orders.order_ids import PREFIX_OF, new_order_id
from quietswap.rules.quotes.issued_quote import QuoteKind
from quietswap.rules.relays import FIRST_TIER, EndpointType, ShareMode
from quietswap.rules.tx.mined import from_node
from quietswap.rules.tx.signed import SignedTransaction
from quietswap.service.base.clock import Clock
from quietswap.service.node.rpc import NodeRpcClient, ask
from quietswap.service.orders.adopt import adopted_order, evidence, plan_of
from quietswap.service.orders.submit import OrderDelivery, plan_by_quote
from quietswap.service.storage.orders import OrderStore
from quietswap.service.storage.quotes import QuoteStore


class NothingToAdopt(Exception):
    """No block has the transaction, it is of another kind, or an order has it already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptMined:
    """Raises NothingToAdopt, NodeUnavailable and StoreUnavailable."""

    rpc: NodeRpcClient
    chain: ChainReader
    quotes: QuoteStore
    orders: OrderStore
    clock: Clock
    limits: OrderTimeouts

    async def __call__(self, client_id: str, tx_hash: str) -> Order:
        """Return the new order; a running service follows it from its next block on."""
        existing = await self.orders.by_hash(tx_hash)
        if existing is not None:
            raise NothingToAdopt(f"order {existing.order_id} has this transaction")
        signed = await self._signed(tx_hash)
        receipt = (await self.chain.receipts([tx_hash])).get(tx_hash)
        if receipt is None:
            raise NothingToAdopt("no block has this transaction")
        quoted = [
            quote
            for kind in (QuoteKind.SWAP, QuoteKind.WRAP)
            for quote in await self.quotes.by_fingerprint(
                client_id, signed.sender, kind, signed.params.fingerprint()
            )
        ]
        plan = plan_by_quote(quoted, signed) or plan_of(
            signed,
            client_id,
            tier=FIRST_TIER,
            endpoint_type=EndpointType.FULLPRIVACY.value,
            share_mode=ShareMode.NONE.value,
        )
        now_ms = self.clock.now_ms()
        order_id = new_order_id(PREFIX_OF[plan.kind], now_ms)
        fresh = adopted_order(order_id, signed, plan, receipt, now_ms=now_ms, limits=self.limits)
        delivery = OrderDelivery(self.orders, self.chain, {}, self.clock)
        return await delivery.adopt(fresh, evidence(receipt))

    async def _signed(self, tx_hash: str) -> SignedTransaction:
        wire = await ask(self.rpc, transaction(tx_hash))
        if wire is None:
            raise NothingToAdopt("the node knows no such transaction")
        try:
            return from_node(wire)
        except ValueError as error:
            raise NothingToAdopt(f"the transaction cannot be an order: {error}") from error
