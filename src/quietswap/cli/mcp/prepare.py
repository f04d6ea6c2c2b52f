"""Transactions for the caller's own signer: planned by the client, submitted when signed."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from quietswap.cli.mcp.answers import BadInput, Refused, marked, order_named
from quietswap.cli.mcp.quotes import Kept, KeptQuote, find_token, loss_members, summary
from quietswap.cli.options.signing import transaction_json
from quietswap.cli.output.tokens import DisplayToken
from quietswap.client import AsyncQuietswapClient, ClientError, SubmittedTransaction, SwapRequest
from quietswap.client.flows import cancel, finality, submission_outcome, swap
from quietswap.client.flows import wrap as wrap_flow
from quietswap.client.flows.approvals import next_approval, publish
from quietswap.client.flows.effects import Flow
from quietswap.client.flows.quote_checks import MAX_FEE_WEI
from quietswap.client.flows.swap_plan import SwapPlan
from quietswap.client.signing import Transaction, hash_of, sign, to_sign
from quietswap.rules.amounts import BPS, format_units
from quietswap.rules.contract.orders import CancelQuoteResponse
from quietswap.rules.contract.wraps import WrapQuoteResponse
from quietswap.rules.safety.loss import Loss, accepted_bps

Kind = Literal["swap", "approval", "cancel", "wrap"]
MAX_LOSS_PERCENT = Decimal(3)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked transaction. `at` is its time in s of a monotonic clock.

    Of a swap and its approval `kept` is the quote and `loss` what it may lose, by the service's
    figures and by Chainlink's prices at the caller's own node; `approvals` are still to sign. Of a
    cancel and of a wrap there is their quote. `most_gas_wei` is what a signature may cost: the
    person is asked for it, and the model is told it.
    """

    kind: Kind
    transaction: Transaction
    wallet: str
    at: float
    most_gas_wei: int
    kept: KeptQuote | None = None
    loss: Loss | None = None
    approvals: int = 0
    cancel: CancelQuoteResponse | None = None
    wrap: tuple[wrap_flow.WrapRequest, WrapQuoteResponse] | None = None

    @property
    def max_gas_cost(self) -> int:
        """The most that the gas of this transaction may cost, in wei."""
        return _gas_of(self.transaction)


def _gas_of(transaction: Transaction) -> int:
    return int(transaction["gas"] * transaction["maxFeePerGas"])


@dataclass(slots=True)
class Preparer:
    """Prepares and submits. `has_node`: whether the caller gave a node of its own.

    No argument of a tool accepts a loss above `max_loss_percent`. With `quotes_again` a swap is
    signed with a newer quote if the person takes long, whose gas may be twice as high.
    """

    client: AsyncQuietswapClient
    has_node: bool
    monotonic: Callable[[], float] = time.monotonic
    max_loss_percent: Decimal = MAX_LOSS_PERCENT
    quotes_again: bool = False
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
    ) -> Prepared:
        """Return the swap of a fresh quote, or the approval that it needs first.

        A loss above `max_loss_percent` (None: what needs no confirmation) is declined. Raises
        BadInput for one above the process's own, and what the client's plan refuses.
        """
        if max_loss_percent is not None and max_loss_percent > self.max_loss_percent:
            raise BadInput(
                "max_loss_percent",
                f"at most {self.max_loss_percent}: the person allows no more (quietswap mcp"
                " --max-loss)",
            )
        most = min(accepted_bps(max_loss_percent), accepted_bps(self.max_loss_percent))
        swap_request = replace(
            request, approval="exact" if self.has_node else "never",
            max_loss_percent=Decimal(most) / 100,
        )  # fmt: skip
        plan = await self.client.plan(swap_request)
        plan.require()
        self._require_price(plan)
        kept_quote = KeptQuote(plan.quote, request, sell, buy, self.monotonic())
        if plan.approvals:
            first = plan.approvals[0]
            transaction = await self.client.run(
                next_approval(
                    token=first.token, router=first.router, amount=first.amount,
                    wallet=request.wallet, polling=self.client.polling,
                    max_fee_wei=request.max_fee_wei,
                )
            )  # fmt: skip
            most_gas, count = _gas_of(transaction), len(plan.approvals)
            return Prepared(
                "approval",
                transaction,
                request.wallet,
                kept_quote.at,
                most_gas,
                kept_quote,
                plan.loss,
                count,
            )
        transaction = to_sign(plan.params)
        cost = _gas_of(transaction)
        most_gas = max(cost, min(2 * cost, MAX_FEE_WEI)) if self.quotes_again else cost
        return Prepared(
            "swap", transaction, request.wallet, kept_quote.at, most_gas, kept_quote, plan.loss
        )

    def _require_price(self, plan: SwapPlan) -> None:
        """Refuse a swap without a price: `at_least` of a tool is no floor of the person's."""
        if not plan.loss.is_priced and accepted_bps(self.max_loss_percent) < BPS:
            raise Refused(
                "LOSS_UNKNOWN",
                "no price of this pair is known, so it may lose everything; at_least bounds it only"
                " if the person started quietswap mcp with --max-loss 100: nothing was prepared",
            )

    async def cancel(self, request: cancel.CancelRequest) -> Prepared:
        """Return the cancel of an open order. Raises the errors of the flow before it signs."""
        checked = await self.client.run(
            cancel.checked_cancel(
                request, lambda _: None, self.client.orders, has_node=self.has_node
            )
        )
        transaction, at = to_sign(checked.quote.transaction_params), self.monotonic()
        most = _gas_of(transaction)
        return Prepared("cancel", transaction, request.wallet, at, most, cancel=checked.quote)

    async def wrap(self, request: wrap_flow.WrapRequest) -> Prepared:
        """Return a wrap or an unwrap. Raises the errors of the flow before it signs."""
        polling, has_node = self.client.polling, self.has_node
        quote = await self.client.run(
            wrap_flow.checked_wrap(request, polling, lambda _: None, has_node=has_node)
        )
        transaction = to_sign(quote.mev_protection.transaction_params)
        most, at = _gas_of(transaction), self.monotonic()
        made = request, quote
        return Prepared("wrap", transaction, request.wallet, at, most, wrap=made)

    async def submit(self, prepared: Prepared, signed: str) -> dict[str, Any]:
        """Submit what the wallet signed: exactly the prepared transaction, or nothing.

        Raises SignerMismatch before anything is sent; then the errors after a submission.
        """
        tx, wallet = prepared.transaction, prepared.wallet
        signed = sign(tx, lambda _: signed, wallet)
        transaction_name = "the approval" if prepared.kind == "approval" else f"the {prepared.kind}"
        sent = SubmittedTransaction(transaction_name, hash_of(signed), wallet, tx["nonce"])
        named = {"kind": prepared.kind, "txHash": sent.tx_hash, "nonce": sent.nonce}
        if prepared.kind == "approval":
            receipt = await self.client.run(publish(signed, sent, self.client.polling))
            next_step = "prepare the swap again: it needs a new quote"
            return named | {"blockNumber": receipt.block_number, "next": next_step}
        if prepared.wrap is not None:
            return named | await self._wrapped(prepared.wrap[1], sent, signed)
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
        quote = prepared.kept.quote
        sold = replace(sent, sell_token=quote.sell_token, sell_amount=int(quote.sell_amount))
        finality.remember(self.client.orders, replace(sold, order_id=order_id))
        return order_named(order_id) | {"next": "follow_order"}

    async def _wrapped(
        self, quote: WrapQuoteResponse, sent: SubmittedTransaction, signed: str
    ) -> dict[str, Any]:
        polling, has_node = self.client.polling, self.has_node
        result = await self.client.run(
            wrap_flow.submit(quote, sent, signed, polling, lambda _: None, has_node=has_node)
        )
        if result.receipt is None:
            return {"next": "list_orders with kind wrap: there is no node to read its receipt at"}
        return {"blockNumber": result.receipt.block_number, "next": "balances"}

    def _cancelled(
        self, prepared: Prepared, signed: str, sent: SubmittedTransaction
    ) -> Flow[dict[str, Any]]:
        assert prepared.cancel is not None
        answer = yield from cancel.submit(prepared.cancel, signed, self.client.polling)
        if answer is None:
            return {"submitted": False, "next": "follow_order: the service reports an end"}
        cancelled = replace(sent, order_id=answer.cancel.order_id)
        finality.remember(self.client.orders, cancelled)
        mine = marked(answer.cancel, "trackingUrl")
        return {"submitted": True, "cancel": mine, "next": "follow_order, of the order"}


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
        "maxGasCostEth": format_units(prepared.most_gas_wei, 18),
    }
    if prepared.approvals:
        body["approvalsToSign"] = prepared.approvals
    if prepared.kept is not None and prepared.loss is not None:
        quote = summary(prepared.kept) | {"loss": loss_members(prepared.loss)}
        del quote["inWholeTokens"]["maxGasCostEth"]
        body["quote"] = quote
    return body
