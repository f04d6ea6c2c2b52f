"""Transactions for the caller's own signer: prepared by the client's flows, submitted when signed.

The flows of `quietswap.client` make all their checks before they call a signer. Here the signer
takes the transaction and stops the flow. So what is prepared is what they would have signed.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal, NoReturn, TypeVar

from quietswap.cli.mcp.answers import marked, order_named
from quietswap.cli.mcp.quotes import Kept, KeptQuote, find_token, loss_members, summary
from quietswap.cli.options.signing import transaction_json
from quietswap.cli.output.tokens import DisplayToken
from quietswap.client import AsyncQuietswapClient, ClientError, SubmittedTransaction, SwapRequest
from quietswap.client.flows import cancel, finality, submission_outcome, swap
from quietswap.client.flows.approvals import publish
from quietswap.client.flows.effects import Flow
from quietswap.client.flows.quoting import require_consent
from quietswap.client.signing import Transaction, hash_of, sign
from quietswap.rules.amounts import format_units
from quietswap.rules.contract.orders import CancelQuoteResponse
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.safety.loss import Loss, accepted_bps

Q = TypeVar("Q")
Kind = Literal["swap", "approval", "cancel"]


class _Stopped(Exception):
    """The flow came to its signer, with the transaction to sign."""


def _stop(transaction: Transaction) -> NoReturn:
    """Stop the flow: it is the signer, and signs nothing."""
    raise _Stopped(transaction)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked transaction. `at` is its time in s of a monotonic clock.

    Of a swap and its approval `kept` is the quote and `loss` what it may lose, by the service's
    figures and by Chainlink's prices at the caller's own node. Of a cancel `cancel` is the quote.
    """

    kind: Kind
    transaction: Transaction
    wallet: str
    at: float
    kept: KeptQuote | None = None
    loss: Loss | None = None
    cancel: CancelQuoteResponse | None = None

    @property
    def max_gas_cost(self) -> int:
        """The most that the gas may cost, in wei."""
        return int(self.transaction["gas"] * self.transaction["maxFeePerGas"])


@dataclass(slots=True)
class Preparer:
    """Prepares and submits. `has_node`: whether the caller gave a node of its own."""

    client: AsyncQuietswapClient
    has_node: bool
    monotonic: Callable[[], float] = time.monotonic
    kept: Kept[Prepared] = field(
        default_factory=lambda: Kept(
            "prepared_id", "nothing prepared here has this id, or it is too old"
        )
    )

    async def pair(self, sell: str, buy: str) -> tuple[DisplayToken, DisplayToken]:
        """Return the tokens of the arguments `sell` and `buy`. Raises BadInput."""
        selling = await find_token("sell", sell, self.client, has_node=self.has_node)
        return selling, await find_token("buy", buy, self.client, has_node=self.has_node)

    async def swap(
        self,
        request: SwapRequest,
        sell: DisplayToken,
        buy: DisplayToken,
        *,
        max_loss_percent: Decimal | None = None,
        judges: bool = True,
    ) -> Prepared:
        """Return the swap of a fresh quote, or the approval that it needs first.

        With `judges`, a loss above `max_loss_percent` (None: what needs no confirmation) is
        declined. Raises the errors of the client's swap flow before it signs.
        """
        losses: list[Loss] = []

        def judge(quote: SwapQuoteResponse, loss: Loss) -> bool:
            losses.append(loss)
            if judges:
                floor = request.at_least is not None
                require_consent(loss, accepted_bps(max_loss_percent), quote, None, has_floor=floor)
            return True

        # a bound of 0 has `judge` called for each loss, and slippage is one
        asked = replace(
            request, approval="exact" if self.has_node else "never",
            max_loss_percent=Decimal(0), confirm=judge,
        )  # fmt: skip
        found, quote = await _stopped(
            lambda watch: self.client.swap(asked, _stop, watch), SwapQuoteResponse
        )
        is_swap = found["to"].lower() == quote.dex_route.target.lower()
        kept = KeptQuote(quote, request, sell, buy, self.monotonic())
        kind: Kind = "swap" if is_swap else "approval"
        return Prepared(kind, found, request.wallet, kept.at, kept, losses[-1])

    async def cancel(self, request: cancel.CancelRequest) -> Prepared:
        """Return the cancel of an open order. Raises the errors of the flow before it signs."""
        found, quote = await _stopped(
            lambda watch: self.client.cancel(request, _stop, watch), CancelQuoteResponse
        )
        return Prepared("cancel", found, request.wallet, self.monotonic(), cancel=quote)

    async def submit(self, prepared: Prepared, signed: str) -> dict[str, Any]:
        """Submit what the wallet signed: exactly the prepared transaction, or nothing.

        Raises SignerMismatch before anything is sent; then the errors after a submission.
        """
        tx, wallet = prepared.transaction, prepared.wallet
        signed = sign(tx, lambda _: signed, wallet)
        what = "the approval" if prepared.kind == "approval" else f"the {prepared.kind}"
        sent = SubmittedTransaction(what, hash_of(signed), wallet, tx["nonce"])
        named = {"kind": prepared.kind, "txHash": sent.tx_hash, "nonce": sent.nonce}
        if prepared.kind == "approval":
            receipt = await self.client.run(publish(signed, sent, self.client.polling))
            next_step = "prepare the swap again: it needs a new quote"
            return named | {"blockNumber": receipt.block_number, "next": next_step}
        flow = self._cancelled if prepared.cancel is not None else self._swapped
        try:
            return named | await self.client.run(flow(prepared, signed, sent))
        except ClientError as error:
            decides = submission_outcome.raise_outcome(
                error, sent, self.client.polling, lambda _: None, has_node=self.has_node
            )
            return await self.client.run(decides)

    def _swapped(
        self, prepared: Prepared, signed: str, sent: SubmittedTransaction
    ) -> Flow[dict[str, Any]]:
        assert prepared.kept is not None
        order_id, _, _ = yield from swap.submit(
            prepared.kept.quote, prepared.kept.request, signed, self.client.polling, lambda _: None
        )
        finality.remember(self.client.orders, replace(sent, order_id=order_id))
        return order_named(order_id) | {"next": "follow_order"}

    def _cancelled(
        self, prepared: Prepared, signed: str, sent: SubmittedTransaction
    ) -> Flow[dict[str, Any]]:
        assert prepared.cancel is not None
        answer = yield from cancel.submit(prepared.cancel, signed, self.client.polling)
        if answer is None:
            return {"submitted": False, "next": "follow_order: the order had ended before"}
        cancelled = replace(sent, order_id=answer.cancel.order_id)
        finality.remember(self.client.orders, cancelled)
        mine = marked(answer.cancel, "trackingUrl")
        return {"submitted": True, "cancel": mine, "next": "follow_order, of the order"}


async def _stopped(
    run: Callable[[Callable[[object], None]], Awaitable[object]], kind: type[Q]
) -> tuple[Transaction, Q]:
    """Run a flow up to its signer. Return the transaction to sign, and the newest quote."""
    quotes: list[Q] = []

    def watch(event: object) -> None:
        if isinstance(event, kind):
            quotes.append(event)

    try:
        await run(watch)
    except _Stopped as stopped:
        return stopped.args[0], quotes[-1]
    raise AssertionError("a flow returns only what was signed")


def shown(prepared: Prepared, prepared_id: str) -> dict[str, Any]:
    """Return a prepared transaction with its hash to sign (EIP-1559, EIP-2718)."""
    from eth_account.typed_transactions.typed_transaction import TypedTransaction

    tx = prepared.transaction
    body: dict[str, Any] = {
        "preparedId": prepared_id,
        "kind": prepared.kind,
        "from": prepared.wallet,
        "transaction": transaction_json(tx),
        "hashToSign": "0x" + TypedTransaction.from_dict(tx).hash().hex(),
        "maxGasCostEth": format_units(prepared.max_gas_cost, 18),
    }
    if prepared.kept is not None and prepared.loss is not None:
        body["quote"] = summary(prepared.kept) | {"loss": loss_members(prepared.loss)}
    return body
