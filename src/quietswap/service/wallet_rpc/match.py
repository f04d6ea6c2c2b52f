"""What a wallet's transaction is: the order it becomes, and the orders that it replaces."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from quietswap.rules.errors.base import ProviderUnavailable
from quietswap.rules.orders import wallet_transaction as rules
from quietswap.rules.orders.new_order import PlannedOrder, planned_order
from quietswap.rules.orders.nonces import OwnNonces
from quietswap.rules.orders.order import Order, OrderKind
from quietswap.rules.orders.preflight import RequiredSpend, swap_spend
from quietswap.rules.quotes.issued_quote import (
    GRACE_MS,
    CancelOrderTerms,
    IssuedQuote,
    QuoteKind,
    Trade,
)
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.rules.routers.batch import plain_swap
from quietswap.rules.time_units import DAY_MS
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tokens.token_list import TokenCatalogue
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.pending_json import pending_json
from quietswap.rules.tx.signed import SignedTransaction, UnsignedTransaction, decode
from quietswap.rules.wallet_rpc_token import WalletRpcToken
from quietswap.service.base.clock import Clock
from quietswap.service.orders.adopt import plan_of
from quietswap.service.orders.submit import plan_by_quote
from quietswap.service.relays.choice import choose_relay
from quietswap.service.relays.relay import Relay
from quietswap.service.storage.orders import OrderStore
from quietswap.service.storage.quotes import QuoteStore

_OPEN_AT_MOST_MS = 7 * DAY_MS
"""Orders are watched for days; older ones of the same trade are not looked at."""


@dataclass(frozen=True, slots=True)
class WalletRpcPolicy:
    """The operator's settings. `max_fee_per_gas` is the highest accepted fee cap in wei.

    `quote_validity_ms` is the longest validity of a swap quote. The endpoint and the share mode are
    used for everything but swaps, which offers nothing to a searcher.
    """

    max_fee_per_gas: int
    quote_validity_ms: int
    endpoint_type: EndpointType
    share_mode: ShareMode


@dataclass(frozen=True, slots=True)
class MatchedTransaction:
    """The order that a transaction becomes, and what it takes from the wallet.

    `unsimulated_gas`: the least gas limit without a simulation. `replaces`: the orders at its nonce
    that it replaces, with their bytes; empty for a new nonce. `spends`: the quotes with this call,
    which are all spent at its nonce. `origin` is text for the event log.
    """

    plan: PlannedOrder
    spend: RequiredSpend
    origin: str
    unsimulated_gas: int = 0
    replaces: Sequence[Order] = ()
    spends: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchTransaction:
    """`relays` by tier. An allowance of a listed token for one of `routers` may be revoked."""

    tokens: TokenCatalogue
    routers: Collection[Address]
    quotes: QuoteStore
    orders: OrderStore
    relays: Mapping[int, Relay]
    clock: Clock
    policy: WalletRpcPolicy

    async def __call__(
        self,
        token: WalletRpcToken,
        signed: SignedTransaction,
        own: OwnNonces,
        known: Order | None = None,
    ) -> MatchedTransaction:
        """Return the match; `own` are the nonces of the client's orders of this wallet.

        `known` is the ended order of the same bytes. A swap needs a live quote again, the others
        stay what they were.

        Raises ValidationError with reason NONCE_IN_USE, QUOTE_USED, QUOTE_EXPIRED or NO_MATCH, and
        ProviderUnavailable if the quote's relay is not configured any more.
        """
        match = await self._match(token, signed, own, known)
        if match.plan.tier not in self.relays:
            raise ProviderUnavailable("this service no longer uses the relay of the quote")
        return match

    async def mined(self, token: WalletRpcToken, signed: SignedTransaction) -> PlannedOrder:
        """Return what a transaction becomes that a block has already, whatever is allowed now."""
        by_quote = plan_by_quote(await self._quotes_of_call(token, signed), signed)
        tier, _ = choose_relay(self.relays)
        return by_quote or plan_of(
            signed,
            token.client_id,
            tier=tier,
            endpoint_type=self.policy.endpoint_type.value,
            share_mode=self.policy.share_mode.value,
        )

    async def _match(
        self, token: WalletRpcToken, signed: SignedTransaction, own: OwnNonces, known: Order | None
    ) -> MatchedTransaction:
        if signed.nonce in (*own.live, *own.at_large):
            found_at = await self.orders.contenders(token.client_id, signed.sender, signed.nonce)
            rivals = [order for order in found_at if order.tx_hash != signed.hash]
            match = self._replacement(signed, rivals)
            if match is not None:
                return match
            for rival in rivals:
                if not rival.status.is_terminal:
                    raise rules.nonce_in_use(rival)
        if known is not None and known.kind is not OrderKind.SWAP:
            plan = _plan_like(known)
            return MatchedTransaction(plan, _spend(plan, signed), "sent again")
        return await self._new(token, signed)

    def _replacement(
        self, signed: SignedTransaction, rivals: Sequence[Order]
    ) -> MatchedTransaction | None:
        """Return a cancel, or the same call with another fee; None if it is neither."""
        if not rivals:
            return None
        if rules.is_empty_self_transfer(signed):
            target = min(rivals, key=rules.is_cancel)
            plan = _plan_like(target, is_cancel=True)
            nothing = RequiredSpend(WETH, 0, spender=None)
            return MatchedTransaction(
                plan, nothing, f"cancel of {target.order_id}", replaces=rivals
            )
        for rival in rivals:
            before = _call_of(rival)
            if before is not None and rules.same_call(before, signed.params):
                plan = _plan_like(rival)
                return MatchedTransaction(
                    plan,
                    _spend(plan, signed),
                    f"speed-up of {rival.order_id}",
                    unsimulated_gas=before.gas_limit,
                    replaces=rivals,
                )
        return None

    async def _new(self, token: WalletRpcToken, signed: SignedTransaction) -> MatchedTransaction:
        params = signed.params
        same = await self._quotes_of_call(token, signed)
        quote = max(same, key=lambda each: each.valid_until_ms, default=None)
        if quote is not None and quote.is_live(self.clock.now_ms()):
            plan = planned_order(quote)
            await self.require_unused(plan, signed)
            return MatchedTransaction(
                plan,
                _spend(plan, signed),
                f"quote {quote.quote_id}",
                unsimulated_gas=quote.form_of(params).gas_limit,
                spends=[each.quote_id for each in same],
            )
        approval = rules.read_approval(params)
        if approval is not None and await self._needs(token, signed, approval):
            return self._other(token, signed, OrderKind.APPROVAL, approval.trade)
        wrap = rules.read_wrap(params)
        if wrap is not None:
            return self._other(token, signed, OrderKind.WRAP, wrap.trade)
        if token.unmatched == "private":
            return self._other(token, signed, OrderKind.TRANSACTION, rules.plain_trade(params))
        raise _unmatched(quote, is_approval=approval is not None)

    async def _quotes_of_call(
        self, token: WalletRpcToken, signed: SignedTransaction
    ) -> Sequence[IssuedQuote]:
        """Return the wallet's latest quotes with exactly this call, expired ones included."""
        call = plain_swap(signed.params, signed.sender)
        quotes = await self._quotes(token, signed, call.to, call.data)
        forms = [(quote, quote.form_of(signed.params)) for quote in quotes]
        return [quote for quote, form in forms if rules.same_call(form, signed.params)]

    async def _needs(
        self, token: WalletRpcToken, signed: SignedTransaction, approval: rules.ApprovalCall
    ) -> bool:
        """Return whether a live swap quote needs this approval, or it ends an allowance.

        Only of a listed token: `approve(spender, 0)` of an NFT approves token number 0.
        """
        is_known = approval.spender in self.routers and self.tokens.get(approval.token) is not None
        if approval.amount == 0 and is_known:
            return True
        quotes = await self._quotes(token, signed, approval.spender)
        return any(
            quote.is_live(self.clock.now_ms()) and rules.is_approved_by(quote, approval)
            for quote in quotes
        )

    async def _quotes(
        self,
        token: WalletRpcToken,
        signed: SignedTransaction,
        target: str,
        data: bytes | None = None,
    ) -> Sequence[IssuedQuote]:
        since = self.clock.now_ms() - 2 * (self.policy.quote_validity_ms + GRACE_MS)
        return await self.quotes.since(
            token.client_id, signed.sender, QuoteKind.SWAP, since, target=target, data=data
        )

    async def require_unused(self, plan: PlannedOrder, signed: SignedTransaction) -> None:
        """Refuse the same swap, in either form, at another nonce while an earlier one is open.

        Both would be paid, also with two quotes: a wallet that sends refused bytes again must not
        find an equal quote that a page has fetched meanwhile. Two that arrive at once are told
        apart where the order is stored: it spends all quotes that have its call (`spends`), and of
        two orders the later one has seen the earlier one's quotes. Raises ValidationError
        (QUOTE_USED), which names the open order.
        """
        since_ms = self.clock.now_ms() - _OPEN_AT_MOST_MS
        earlier = await self.orders.same_trade(plan.client_id, signed.sender, plan.trade, since_ms)
        swap = plain_swap(signed.params, signed.sender)
        for order in earlier:
            call = _call_of(order)
            is_same = call is not None and rules.same_call(plain_swap(call, order.wallet), swap)
            is_open = not order.status.is_terminal or (order.is_at_large and order.watched)
            if is_same and is_open and order.nonce != signed.nonce:
                raise rules.quote_used(order.nonce, signed.nonce, order)

    def _other(
        self, token: WalletRpcToken, signed: SignedTransaction, kind: OrderKind, trade: Trade
    ) -> MatchedTransaction:
        tier, _ = choose_relay(self.relays)
        plan = PlannedOrder(
            client_id=token.client_id,
            kind=kind,
            trade=trade,
            tier=tier,
            endpoint_type=self.policy.endpoint_type.value,
            share_mode=self.policy.share_mode.value,
        )
        return MatchedTransaction(plan, _spend(plan, signed), f"wallet RPC {token.id}")


def _unmatched(late: IssuedQuote | None, *, is_approval: bool) -> Exception:
    if late is not None:
        return rules.unmatched("QUOTE_EXPIRED", "the quote of this transaction has expired")
    if is_approval:
        return rules.unmatched(
            "NO_MATCH",
            "no live quote of this wallet needs this approval: it must name the quote's sell token"
            " and router, and at most the amount sold; or a listed token, a router of this service,"
            " and 0",
        )
    return rules.unmatched(
        "NO_MATCH",
        "it is neither the transaction of a live quote of this wallet nor an approval for one, a"
        " wrap, a cancel or a speed-up, and this RPC URL accepts nothing else",
    )


def _spend(plan: PlannedOrder, signed: SignedTransaction) -> RequiredSpend:
    trade = plan.trade
    if plan.kind is OrderKind.SWAP:
        return swap_spend(trade, signed)
    unwraps = plan.kind is OrderKind.WRAP and trade.sell_token == WETH
    return RequiredSpend(WETH, trade.sell_amount if unwraps else 0, spender=None)


def _plan_like(order: Order, *, is_cancel: bool = False) -> PlannedOrder:
    """Return the same order again, or its cancel, at its endpoint: the relay that holds it."""
    is_swap = order.kind is OrderKind.SWAP and not is_cancel
    trade = Trade(
        order.sell_token, order.buy_token, order.sell_amount, order.min_buy_amount, order.buy_amount
    )
    return PlannedOrder(
        client_id=order.client_id,
        kind=OrderKind.CANCEL if is_cancel else order.kind,
        trade=CancelOrderTerms.trade if is_cancel else trade,
        tier=order.tier,
        endpoint_type=order.endpoint_type,
        share_mode=order.share_mode,
        source=order.source if is_swap else None,
        usd_cents=order.usd_cents if is_swap else None,
        quote_id=order.quote_id if is_swap else None,
    )


def _call_of(order: Order) -> UnsignedTransaction | None:
    """Return the transaction of an order; None if its bytes are deleted."""
    return None if order.raw is None else decode("0x" + order.raw.hex()).params


@dataclass(frozen=True, slots=True)
class WalletOrders:
    """Open orders as the wallet RPC reports them. Every method raises StoreUnavailable."""

    orders: OrderStore

    async def pending(self, token: WalletRpcToken, tx_hash: str) -> dict[str, object] | None:
        """Return the pending object of an open order of the token's client and wallets.

        None for any other hash, and once the order has ended: only the node says what is mined.
        """
        order = await self.orders.by_hash(tx_hash.lower())
        if order is None or order.client_id != token.client_id or order.wallet not in token.wallets:
            return None
        if order.status.is_terminal or order.raw is None:
            return None
        return pending_json(decode("0x" + order.raw.hex()))

    async def next_nonce(self, token: WalletRpcToken, wallet: Address) -> int | None:
        """Return the largest nonce of the client's open orders of this wallet plus one.

        None without such an order, and for a wallet of which the token knows nothing.
        """
        if wallet not in token.wallets:
            return None
        own = await self.orders.own_nonces(token.client_id, wallet)
        return max(own.live) + 1 if own.live else None
