"""eth_sendRawTransaction of a wallet's RPC URL: a private, tracked order, or an error.

Order of checks: bytes, wallet, known bytes, fees, what it is, the chain. Nothing is sent before all
have passed. The bytes only ever go to a private relay.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from quietswap.rules.chain.records import (
    TRACKED_HEAD_S,
    DryRun,
    Head,
    NodeUnavailable,
    signed_swap,
)
from quietswap.rules.errors.base import ProviderUnavailable, RequestError
from quietswap.rules.errors.requests import (
    InvalidSignature,
    NonceTooLow,
    SignatureReplay,
    ValidationError,
)
from quietswap.rules.orders import wallet_transaction as rules
from quietswap.rules.orders.cancel_transaction import fee_cap
from quietswap.rules.orders.checks import RPC_CALL, RPC_SWAP
from quietswap.rules.orders.nonces import OwnNonces
from quietswap.rules.orders.order import FailureCode, Order, OrderKind, OrderStatus
from quietswap.rules.orders.preflight import PreflightResult, preflight
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import SignedTransaction
from quietswap.rules.wallet_rpc_token import WalletRpcToken
from quietswap.service.orders.submit import SubmitOrder, accepted, decode_signed
from quietswap.service.wallet_rpc.match import MatchedTransaction, MatchTransaction

_DELIVERY_MS = 10_000
"""Longer than a relay is waited for (5 s by default): then its response is stored."""
_LOOK_EVERY_S = 0.2
_GAP_S = 1.0
"""So long a nonce behind a gap waits for the one before it, which another process may be storing.
Wallets post several transactions at once."""
NOT_SENT_ANYWHERE = "not sent anywhere: "
"""Every message about a transaction that no relay got begins with it."""


@dataclass(slots=True)
class PostsUnderWay:
    """The posts that this process works on: a nonce waits for lower ones of its wallet."""

    _posts: list[tuple[Address, int, asyncio.Event]] = field(default_factory=list)

    @contextmanager
    def begun(self, signed: SignedTransaction) -> Iterator[None]:
        post = signed.sender, signed.nonce, asyncio.Event()
        self._posts.append(post)
        try:
            yield
        finally:
            self._posts.remove(post)
            post[2].set()

    async def lower_ended(self, signed: SignedTransaction) -> bool:
        """Wait for all posts of lower nonces; return whether there was one."""
        waited = False
        await asyncio.sleep(0)  # those that arrived at the same time begin
        while lower := self._lower(signed):
            await lower[0].wait()
            waited = True
        return waited

    def _lower(self, signed: SignedTransaction) -> list[asyncio.Event]:
        return [
            ended
            for sender, nonce, ended in self._posts
            if sender == signed.sender and nonce < signed.nonce
        ]


@dataclass(frozen=True, slots=True)
class SendRawTransaction:
    """Send what a wallet signed, privately. Gas, fees and nonce are the wallet's own, in bounds."""

    core: SubmitOrder
    match: MatchTransaction
    posts: PostsUnderWay = field(default_factory=PostsUnderWay)

    async def __call__(self, token: WalletRpcToken, raw_hex: str) -> str:
        """Return the transaction's hash, once its order is stored and sent.

        The same bytes again return the same hash: nothing is sent and no node is called, unless the
        order ended without a block; then it is sent once more, at most once per block.

        Raises RequestError. Its message begins with `NOT_SENT_ANYWHERE` if no relay got the bytes;
        otherwise its details have `mayBeMined`, or reason HAD_IT_BEFORE or STORE_UNAVAILABLE.
        """
        with _not_sent():
            signed = decode_signed(raw_hex, OrderKind.SWAP)
            if signed.sender not in token.wallets:
                raise InvalidSignature.other_signer(signed.sender, "a wallet of this RPC URL")
        with self.posts.begun(signed):
            return await self._send(token, signed)

    async def _send(self, token: WalletRpcToken, signed: SignedTransaction) -> str:
        with _not_sent():
            order = await self.core.orders.by_hash(signed.hash)
            if order is not None and order.client_id != token.client_id:
                raise SignatureReplay
        if order is not None:
            order = await self._delivered(order)
            if await self._is_answered(order):
                return order.tx_hash
        try:
            with _not_sent():
                found, ready = await self._check_in_turn(token, signed, order)
        except RequestError as refusal:
            with _not_sent():
                stored = await self.core.stored_meanwhile(signed, order)
            if stored is None and order is None:
                return await self._adopt(token, signed, refusal)
            if stored is None or stored.client_id != token.client_id:
                raise
            return _hash_of(await self._delivered(stored))
        return await self._deliver(signed, found, ready, order)

    async def _adopt(
        self, token: WalletRpcToken, signed: SignedTransaction, refusal: RequestError
    ) -> str:
        if not isinstance(refusal, (NonceTooLow, ValidationError)):
            raise refusal
        plan = await self.match.mined(token, signed)
        return (await self.core.adopt(signed, plan, refusal)).tx_hash

    async def _delivered(self, order: Order) -> Order:
        """Return the order once its delivery has ended, also one of another process.

        A relay may refuse to connect for seconds: until the response is stored, it is not known
        whether it got the bytes. After that time the order is the tracker's to send.
        """
        core = self.core
        order = await core.delivery.wait_for(order)
        began_ms = order.watch_until_ms - core.limits.watch_ms
        while order.status is OrderStatus.PENDING:
            if not 0 <= core.clock.now_ms() - began_ms < _DELIVERY_MS:
                break
            await core.clock.sleep(_LOOK_EVERY_S)
            with _not_sent():
                order = await core.orders.by_hash(order.tx_hash) or order
        return order

    async def _is_answered(self, known: Order) -> bool:
        """Return whether the hash answers a repeated post; False if it is to be sent once more.

        Raises the refusal again within the block in which the bytes were last sent.
        """
        if not known.may_resubmit:
            return True
        assert known.failure is not None
        if known.failure.code is FailureCode.NOT_SENT:
            return False
        with _not_sent():
            head = await self.core.chain.head()
        if known.sent_head is not None and head.number <= known.sent_head:
            raise rules.rejected_before(known)
        return False

    async def _check_in_turn(
        self, token: WalletRpcToken, signed: SignedTransaction, known: Order | None
    ) -> tuple[MatchedTransaction, PreflightResult]:
        """Check it behind the lower nonces that are under way, here or in another process."""
        clock = self.core.clock
        until = clock.monotonic() + _GAP_S
        await self.posts.lower_ended(signed)
        while True:
            try:
                return await self._check(token, signed, known)
            except ValidationError as refusal:
                if (refusal.details or {}).get("reason") != rules.NONCE_GAP:
                    raise
                if await self.posts.lower_ended(signed):
                    continue
                if clock.monotonic() >= until:
                    raise
            await clock.sleep(_LOOK_EVERY_S)

    async def _check(
        self, token: WalletRpcToken, signed: SignedTransaction, known: Order | None
    ) -> tuple[MatchedTransaction, PreflightResult]:
        core = self.core
        head = await core.chain.head(TRACKED_HEAD_S)
        self._check_price(signed, head)
        own = await core.orders.own_nonces(token.client_id, signed.sender)
        match = await self.match(token, signed, own, known)
        rules.check_bump(signed, [fee_cap(order) for order in match.replaces])
        if (
            match.spend.batched and not match.replaces
        ):  # the preflight takes a gap for an open order
            latest = await core.chain.nonces([signed.sender])
            await core.check_gap(signed, latest[signed.sender], own)
        ready = await self._preflight(signed, match, own)
        if ready.head > head.number:  # a block came, which the preflight has read
            self._check_price(signed, await core.chain.head())
        if not match.replaces:
            await core.check_gap(signed, ready.nonce, own)
        return match, ready

    def _check_price(self, signed: SignedTransaction, head: Head) -> None:
        rules.check_intrinsic_gas(signed, is_amsterdam=head.is_amsterdam)
        rules.check_fee(signed, head.next_base_fee, self.match.policy.max_fee_per_gas)

    async def _preflight(
        self, signed: SignedTransaction, found: MatchedTransaction, own: OwnNonces
    ) -> PreflightResult:
        """Check the wallet and run the transaction with its own gas and fees, in one round trip.

        A `transaction` behind an open order is not run: its result may depend on that order.
        """
        plan, chain = found.plan, self.core.chain
        is_behind = any(nonce < signed.nonce for nonce in own.live)
        if plan.kind is OrderKind.TRANSACTION and is_behind:
            return await preflight(chain, signed, found.spend, RPC_CALL, None)
        is_swap = plan.kind is OrderKind.SWAP
        measured = plan.trade.buy_token if is_swap else found.spend.token
        trial = signed_swap(signed, measured, plan.trade.min_buy_amount if is_swap else 0)
        door = RPC_SWAP if is_swap else RPC_CALL
        ready = await preflight(chain, signed, found.spend, door, trial)
        if ready.run is not None and ready.run.succeeded is None:
            rules.check_gas(signed.params, found.unsimulated_gas)
        return ready

    async def _deliver(
        self,
        signed: SignedTransaction,
        found: MatchedTransaction,
        ready: PreflightResult,
        known: Order | None,
    ) -> str:
        core = self.core
        fresh = core.new_planned(signed, found.plan, ready)
        checked = "; ".join(filter(None, (found.origin, _words(found, ready.run))))
        try:
            if known is None:
                delivered = await core.delivery.new(fresh, checked, found.spends)
            else:
                delivered = await core.delivery.redeliver(known, fresh, checked)
        except StoreUnavailable as error:
            raise _store_unavailable(error) from error
        except RequestError as error:
            with _not_sent():
                if isinstance(error, ValidationError):  # QUOTE_USED, without the open order's id
                    await self.match.require_unused(found.plan, signed)
                raise error
        if delivered.order.order_id != fresh.order_id and known is None:  # of another process
            return _hash_of(await self._delivered(delivered.order))
        try:
            return accepted(delivered, signed, ready).tx_hash
        except RequestError as error:
            error.add(order_id=delivered.order.order_id)
            if (error.details or {}).get("reason") == FailureCode.NOT_SENT.value:
                error.message = NOT_SENT_ANYWHERE + error.message
            raise


def _hash_of(order: Order) -> str:
    """Return the hash of an order that another request delivered.

    Raises ProviderUnavailable if no relay got it, and ValidationError if one refused it.
    """
    if not order.may_resubmit:
        return order.tx_hash
    assert order.failure is not None
    if order.failure.code is not FailureCode.NOT_SENT:
        raise rules.rejected_before(order)
    raise ProviderUnavailable(
        NOT_SENT_ANYWHERE + "the relay cannot be reached",
        reason=FailureCode.NOT_SENT.value,
        order_id=order.order_id,
    )


@contextmanager
def _not_sent() -> Iterator[None]:
    """Mark every error in the block: no relay has got the bytes by this request."""
    try:
        yield
    except RequestError as error:
        error.message = NOT_SENT_ANYWHERE + error.message
        raise
    except NodeUnavailable as error:
        text = f"{error.for_caller}, so the transaction could not be checked"
        raise ProviderUnavailable(NOT_SENT_ANYWHERE + text, reason="NODE_UNAVAILABLE") from error
    except StoreUnavailable as error:
        raise _store_unavailable(error) from error


def _store_unavailable(error: StoreUnavailable) -> ProviderUnavailable:
    return ProviderUnavailable(
        f"{error.for_caller}, so it is not known whether the order was stored; it was not sent by"
        " this request",
        "Send the same signed transaction again.",
        reason="STORE_UNAVAILABLE",
    )


def _words(found: MatchedTransaction, run: DryRun | None) -> str:
    """Return the result of the dry run for the event log; only a swap has an output."""
    if run is None:
        return ""
    if run.succeeded and found.plan.kind is not OrderKind.SWAP:
        return "simulated: it does not revert"
    return run.words
