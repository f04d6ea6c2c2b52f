"""The steps that the submission of a swap, a wrap and a cancel share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from quietswap.chain.address import Address
from quietswap.chain.chain import ChainReader, NodeUnavailable, WalletSnapshot
from quietswap.chain.signed import (
    BadSignature,
    SignedTransaction,
    TransactionDecodeError,
    TransactionRuleViolation,
    decode,
)
from quietswap.clients.client import ApiKey
from quietswap.clock import Clock
from quietswap.errors.base import Details, ProviderUnavailable, RequestError
from quietswap.errors.requests import (
    InsufficientAllowance,
    InsufficientBalance,
    InvalidSignature,
    InvalidTransaction,
    NonceTooLow,
    ValidationError,
)
from quietswap.orders.checks import Check, Door, is_contract, would_revert
from quietswap.orders.deliver import DeliveryResult, OrderDelivery
from quietswap.orders.order import DryRun, Order, OrderKind, SignedSwap
from quietswap.orders.submission import (
    OrderTimeouts,
    PlannedOrder,
    matching_quote,
    new_pending_order,
    planned_order,
)
from quietswap.quoting.quote import IssuedQuote, QuoteKind, Trade
from quietswap.relays.answers import SentTransaction, delivery_error
from quietswap.relays.relay import Relay
from quietswap.routers import batch
from quietswap.storage.orders import OrderStore
from quietswap.storage.quotes import QuoteStore

# Checks of a signed transaction against the chain before it is sent, in one round trip.


@dataclass(frozen=True, slots=True)
class RequiredSpend:
    """The tokens that the transaction takes from the wallet: `amount` in smallest units.

    `spender` needs an allowance; None if the token's own contract is called. `batched`: the
    transaction itself gives that allowance (`quietswap.routers.batch`).
    """

    token: Address
    amount: int
    spender: Address | None
    batched: bool = False


def swap_spend(trade: Trade, signed: SignedTransaction) -> RequiredSpend:
    """Return what a swap takes; `signed` is one of the two forms of a quote."""
    call = batch.unwrapped(signed.params, signed.sender)
    is_batched = call is not signed.params
    return RequiredSpend(trade.sell_token, trade.sell_amount, call.to, is_batched)


@dataclass(frozen=True, slots=True)
class PreflightResult:
    """The result of passed checks at block number `head`; the wallet had `eth` wei.

    `nonce` is the wallet's next nonce on the chain. `run` is the result of the dry run,
    None without one.
    """

    head: int
    eth: int
    nonce: int
    run: DryRun | None = None


async def preflight(
    chain: ChainReader,
    signed: SignedTransaction,
    spend: RequiredSpend,
    door: Door,
    trial: SignedSwap | None,
) -> PreflightResult:
    """Make the checks of `door`: the wallet can pay, the nonce is free, and `trial` succeeds.

    The simulation is checked last, because the other errors are more exact. The check is necessary:
    a relay accepts a transaction that the wallet cannot pay for, and never includes it. A refusal
    rests on the newest block of several backends of the node: an older one may lack an approval.
    Raises InvalidSignature, NonceTooLow, InsufficientBalance, InsufficientAllowance,
    ValidationError with reason WOULD_REVERT; ProviderUnavailable if the node does not answer:
    nothing is sent then.
    """

    def passed(facts: WalletSnapshot, run: DryRun | None) -> PreflightResult:
        checks = {
            Check.CONTRACT: lambda: _check_sender(facts, spend),
            Check.NONCE: lambda: _check_nonce(signed, facts, spend),
            Check.FUNDS: lambda: _check_funds(signed, facts, spend),
            Check.ALLOWANCE: lambda: _check_allowance(facts, spend),
            Check.TRIAL: lambda: _check_trial(trial, run, door),
        }
        for check in Check:
            if check in door.refuses:
                checks[check]()
        return PreflightResult(facts.head, facts.eth_balance, facts.nonce, run)

    try:
        facts, run = await _read(chain, signed, spend, trial)
        try:
            return passed(facts, run)
        except RequestError:
            if facts.head >= await chain.newest_number():
                raise
        return passed(*await _read(chain, signed, spend, trial))
    except NodeUnavailable as error:
        raise ProviderUnavailable(
            "the Ethereum node does not answer, so the transaction could not be checked",
            {"reason": "NODE_UNAVAILABLE"},
        ) from error


async def _read(
    chain: ChainReader, signed: SignedTransaction, spend: RequiredSpend, trial: SignedSwap | None
) -> tuple[WalletSnapshot, DryRun | None]:
    spender = spend.spender or spend.token
    if trial is None:
        return await chain.wallet(signed.sender, spend.token, spender), None
    return await chain.wallet_and_dry_run(trial, spend.token, spender)


def _check_sender(facts: WalletSnapshot, spend: RequiredSpend) -> None:
    """Refuse a sender that is a contract, as every node does (EIP-3607); a delegation may send."""
    if is_contract(facts.code):
        raise InvalidSignature(reason="its sender is a contract, which cannot send (EIP-3607)")
    if spend.batched:
        _refuse_batch(batch.refused_code(facts.code))


def _check_nonce(signed: SignedTransaction, facts: WalletSnapshot, spend: RequiredSpend) -> None:
    if signed.nonce < facts.nonce:
        raise NonceTooLow(provided=signed.nonce, expected=facts.nonce)
    if spend.batched and signed.nonce > facts.nonce:
        _refuse_batch(batch.LATER)


def _refuse_batch(reason: str | None) -> None:
    if reason is None:
        return
    error = ValidationError(f"approve and swap in one: {reason}", reason="BATCH_REFUSED")
    error.suggestion = "Nothing was sent. Request a fresh quote and sign its plain form."
    raise error


def _check_funds(signed: SignedTransaction, facts: WalletSnapshot, spend: RequiredSpend) -> None:
    if facts.eth_balance < signed.max_cost_wei:
        raise InsufficientBalance(
            asset="ETH", required=signed.max_cost_wei, available=facts.eth_balance
        )
    if facts.token_balance < spend.amount:
        raise InsufficientBalance(
            asset=spend.token, required=spend.amount, available=facts.token_balance
        )


def _check_allowance(facts: WalletSnapshot, spend: RequiredSpend) -> None:
    if spend.batched:
        _refuse_batch(batch.refused_allowance(facts.allowance))
        return
    if spend.spender is not None and facts.allowance < spend.amount:
        raise InsufficientAllowance(
            token=spend.token, router=spend.spender, required=spend.amount, current=facts.allowance
        )


def _check_trial(trial: SignedSwap | None, run: DryRun | None, door: Door) -> None:
    """Refuse what would fail now: nothing was sent and no nonce is used."""
    fault = None if trial is None or run is None else run.fault(trial)
    if fault is not None:
        raise would_revert(door, fault)


NEAREST = 20
"""Latest quotes of the wallet with which a transaction that no quote issued is compared."""


def decode_signed(raw_hex: str, kind: OrderKind) -> SignedTransaction:
    """Return the transaction of 0x-prefixed hex.

    Raises InvalidSignature. A broken rule is InvalidTransaction for a wrap and ValidationError
    otherwise, as the interface's error table says.
    """
    try:
        return decode(raw_hex)
    except (TransactionDecodeError, BadSignature) as error:
        raise InvalidSignature(reason=str(error)) from error
    except TransactionRuleViolation as broken:
        if kind is OrderKind.WRAP:
            raise InvalidTransaction(reason=str(broken), field=broken.name) from broken
        field = {
            "field": f"transaction.{broken.name}",
            "expected": broken.expected,
            "provided": broken.provided,
        }
        raise ValidationError(f"the transaction is not valid: {broken}", [field]) from broken


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitOrder:
    """`relays` by tier; `new_id` returns a fresh unguessable order id."""

    quotes: QuoteStore
    orders: OrderStore
    chain: ChainReader
    relays: Mapping[int, Relay]
    delivery: OrderDelivery
    clock: Clock
    new_id: Callable[[OrderKind], str]
    limits: OrderTimeouts

    def relay(self, tier: int) -> Relay:
        """Return the relay of a tier. Raises ProviderUnavailable."""
        relay = self.relays.get(tier)
        if relay is None:
            raise ProviderUnavailable("this service no longer uses the relay of the quote")
        return relay

    async def issued(
        self, key: ApiKey, kind: QuoteKind, signed: SignedTransaction
    ) -> Sequence[IssuedQuote]:
        """Return the quotes with this transaction; without one, the wallet's latest quotes.

        The latter only serve to name the differences.
        """
        wallet, fingerprint = signed.sender, signed.params.fingerprint()
        exact = await self.quotes.by_fingerprint(key.client_id, wallet, kind, fingerprint)
        call = batch.unwrapped(signed.params, wallet)
        if call is not signed.params:
            exact = await self.quotes.since(
                key.client_id, wallet, kind, 0, target=call.to, data=call.data
            )
        return exact or await self.quotes.nearest(key.client_id, wallet, kind, NEAREST)

    def match(
        self,
        issued: Iterable[IssuedQuote],
        differences: Callable[[IssuedQuote], Sequence[Details]],
        signer: Address,
    ) -> IssuedQuote:
        """Return the quote without differences. Raises ValidationError, ProviderUnavailable."""
        compared = [(quote, differences(quote)) for quote in issued]
        quote = matching_quote(compared, signer, self.clock.now_ms())
        self.relay(quote.tier)
        return quote

    async def stored_meanwhile(
        self, signed: SignedTransaction, known: Order | None
    ) -> Order | None:
        """Return the order that another post of the same bytes has stored since `known` was read.

        A preflight that fails proves nothing if these bytes were delivered in the meantime: their
        own transaction may already be mined, and has then used the nonce and the balance.
        """
        return await self.orders.by_hash(signed.hash) if known is None else None

    def new_order(
        self, signed: SignedTransaction, quote: IssuedQuote, ready: PreflightResult
    ) -> Order:
        """Return the pending order of a quote, not stored yet."""
        return self.new_planned(signed, planned_order(quote), ready)

    def new_planned(
        self, signed: SignedTransaction, plan: PlannedOrder, ready: PreflightResult
    ) -> Order:
        """Return the pending order, not stored yet."""
        return new_pending_order(
            self.new_id(plan.kind),
            signed,
            plan,
            now_ms=self.clock.now_ms(),
            head=ready.head,
            limits=self.limits,
        )

    async def deliver(
        self, fresh: Order, ready: PreflightResult, known: Order | None
    ) -> DeliveryResult:
        """Store and send `fresh`; if `known` has the same bytes, send that order once more.

        Raises StoreUnavailable when it is not certain that the order was stored: it was not sent
        then.
        """
        checked = ready.run.words if ready.run else ""
        if known is None:
            return await self.delivery.new(fresh, checked)
        return await self.delivery.redeliver(known, fresh, checked)


def accepted(delivered: DeliveryResult, signed: SignedTransaction, ready: PreflightResult) -> Order:
    """Return the order of a delivery; raises the error of one that failed."""
    sent = SentTransaction(signed, ready.eth, ready.nonce)
    error = delivery_error(delivered.order, delivered.outcome, sent)
    if error is not None:
        raise error
    return delivered.order
