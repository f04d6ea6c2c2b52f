"""The local signer of the person: it signs what was prepared, within limits and if confirmed.

A model cannot confirm. The client of the protocol asks its user (elicitation), or this process asks
on the terminal that the person started it in.
"""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated, Any, Literal

import click
from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel, Field

from quietswap.cli.mcp.answers import Refused
from quietswap.cli.mcp.arguments import PreparedArgument
from quietswap.cli.mcp.limits import SigningLimits, Spending
from quietswap.cli.mcp.prepare import MAX_LOSS_PERCENT, Prepared, Preparer
from quietswap.cli.mcp.quotes import KeptQuote
from quietswap.cli.mcp.trades import Pair, in_weth
from quietswap.cli.options.signing import WalletSigner
from quietswap.cli.output.tokens import ETHER, DisplayToken
from quietswap.client.flows.swap_plan import FRESH_S
from quietswap.client.flows.trade_steps import ReadyStep
from quietswap.client.flows.wrap import WrapRequest
from quietswap.client.signing import hash_of, sign
from quietswap.rules.amounts import format_units
from quietswap.rules.contract.wraps import WrapQuoteResponse
from quietswap.rules.foreign_text import visible
from quietswap.rules.safety.methods import ROUTERS
from quietswap.rules.tx.address import Address

_LATEST_S = 240.0
"""After so many seconds an approval or a cancel has to be prepared again: its fees are old."""

Asks = Literal["client", "terminal"]


class Consent(BaseModel):
    """What a person types into the form of a client."""

    answer: str = Field(description="The word or number that the question asks for")


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask, and what to type to accept it."""

    text: str
    wanted: str


@dataclass(slots=True)
class Person:
    """The person who confirms, asked by the client or on the terminal."""

    asks: Asks
    _terminal: asyncio.Lock = field(default_factory=asyncio.Lock)

    def form(self, context: Context[Any, Any], question: Question) -> Elicit[Consent] | None:
        """Return the form for the client; None to ask on the terminal. Raises Refused."""
        if self.asks == "terminal":
            return None
        capabilities = context.client_capabilities
        offered = capabilities.elicitation if capabilities else None
        if offered is None or (offered.form is None and offered.url is not None):
            raise Refused(
                "NO_CONFIRMATION",
                "this client cannot ask its user (it has no elicitation of forms), and a model"
                " cannot confirm: nothing was signed. Sign elsewhere and use submit_signed, or"
                " start quietswap mcp with --http PORT --confirm terminal",
            )
        return Elicit(f"{question.text}\nTo sign it, type {question.wanted}", Consent)

    async def require(self, question: Question, answer: ElicitationResult[Consent] | None) -> None:
        """Return if the person accepts: in the `answer`, or on the terminal. Raises Refused."""
        if self.asks == "terminal":
            async with self._terminal:
                typed = await _typed(question)
        else:
            consent = answer.data if isinstance(answer, AcceptedElicitation) else None
            typed = consent.answer if isinstance(consent, Consent) else ""
        if typed.strip().removesuffix("%").strip().lower() != question.wanted:
            raise Refused("NOT_CONFIRMED", "the person did not confirm it: nothing was signed")


async def _typed(question: Question) -> str:
    """Return the line that the person types on the terminal; "" at its end.

    No thread reads it: Ctrl-C, and a caller that gives up, would wait for that thread until Enter.
    """
    click.echo("\n" + visible(question.text, keep="\n"), err=True)
    click.echo(f"To sign it, type {question.wanted}: ", nl=False, err=True)
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(sys.stdin)
    return sys.stdin.readline()


@dataclass(frozen=True, slots=True)
class LocalSigner:
    """Signs for one wallet. The limits are checked before the person is asked, and again after."""

    preparer: Preparer
    signer: WalletSigner
    limits: SigningLimits
    person: Person

    @property
    def instructions(self) -> str:
        """What a model is told of the signer."""
        return (
            f"\nThe tool sign_and_submit signs for the wallet {self.signer.wallet}, if the person"
            f" confirms. Limits within 24 hours: {self.limits.all_words()}."
        )

    def tool(self) -> Callable[..., Awaitable[dict[str, Any]]]:
        """Return the tool; its question is asked before its body runs."""

        self.preparer.quotes_again = True

        async def ask(prepared_id: str, ctx: Context[Any, Any]) -> Elicit[Consent] | Refused | None:
            try:
                prepared = self._own(prepared_id)
                self.limits.check(*_spendings(prepared))
                return self.person.form(ctx, self._question(prepared))
            except Refused as error:
                return error

        async def sign_and_submit(
            prepared_id: PreparedArgument,
            answer: Annotated[ElicitationResult[Consent], Resolve(ask)],
        ) -> dict[str, Any]:
            """Ask the person, then sign with the local signer and submit what was prepared.

            Only the person can confirm. Limits for each token within 24 hours hold. If the quote
            is older than 20 seconds by then, a new one is signed that keeps what was confirmed.
            """
            outcome = answer.data if isinstance(answer, AcceptedElicitation) else None
            if isinstance(outcome, Refused):
                raise outcome
            prepared = self._own(prepared_id)
            await self.person.require(self._question(prepared), answer)
            # for the last time: one confirmation signs once
            return await self._signed(await self._fresh(self.preparer.kept.take(prepared_id)))

        return sign_and_submit

    def _own(self, prepared_id: str) -> Prepared:
        prepared = self.preparer.kept[prepared_id]
        if prepared.wallet != self.signer.wallet:
            raise Refused(
                "OTHER_WALLET",
                f"the local signer signs for {self.signer.wallet} only: nothing was signed",
            )
        return prepared

    def _question(self, prepared: Prepared) -> Question:
        """Return what the person is asked. Of others' text it has addresses only."""
        lines, word = [f"Sign for {prepared.wallet}, with {self.signer.how}:"], "yes"
        if prepared.step is not None and prepared.pair is not None:
            lines += _trade_lines(prepared.step, prepared.pair)
        if prepared.wrap is not None:
            lines.append(_wrap_line(*prepared.wrap))
            if prepared.loss is not None:
                word = prepared.loss.word_to_type
        elif prepared.kept is None or prepared.loss is None:
            nonce = prepared.transaction["nonce"]
            lines.append(f"cancel the order with nonce {nonce}: an empty transfer to itself")
        elif prepared.kind == "approval":
            lines += _approval_lines(prepared, prepared.kept)
        else:
            lines += _swap_lines(prepared.kept, prepared.step)
            lines += _batch_lines(prepared.batch, prepared.kept)
            word = prepared.loss.word_to_type
        if prepared.loss is not None:
            source = "" if self.preparer.has_node else ", by the service's figures alone"
            lines.append(f"It may lose: {prepared.loss}{source}")
        for one in _spendings(prepared):
            use = "gas, at most" if one.token == ETHER else "sold"
            lines.append(f"{use} {one.token.show(one.amount)}: {self.limits.words(one)}")
        return Question("\n".join(lines), word)

    async def _fresh(self, prepared: Prepared) -> Prepared:
        """Return what to sign now: of an old quote a new one within what was confirmed."""
        age = self.preparer.monotonic() - prepared.at
        if prepared.kind != "swap" and (prepared.step is None or prepared.kind != "wrap"):
            if age > _LATEST_S:
                raise Refused("TOO_OLD", "prepare it again: its fees are old: nothing was signed")
            return prepared
        if age <= FRESH_S:
            return prepared
        if prepared.step is not None:
            return _within(prepared, await self.preparer.again(prepared))
        assert prepared.kept is not None
        kept, request = prepared.kept, prepared.kept.request
        # half of the slippage leaves the other half for what the price lost meanwhile
        request = replace(
            request, sell_amount=int(kept.quote.sell_amount), max_sell=None,
            at_least=int(kept.quote.min_buy_amount), max_fee_wei=prepared.most_gas_wei,
            slippage_bps=max(1, request.slippage_bps // 2),
        )  # fmt: skip
        confirmed = None if prepared.loss is None else Decimal(-(-prepared.loss.bps // 100))
        most = confirmed if confirmed and confirmed >= MAX_LOSS_PERCENT else None
        if most is not None:
            most = min(most, self.preparer.max_loss_percent)
        again = await self.preparer.swap(request, kept.sell, kept.buy, max_loss_percent=most)
        return _within(prepared, again)

    async def _signed(self, prepared: Prepared) -> dict[str, Any]:
        """Count, sign and submit. What was not signed is not counted."""
        counted = self.limits.count(*_signed(prepared))
        try:
            raw = await asyncio.to_thread(
                sign, prepared.transaction, self.signer.signer, prepared.wallet
            )
        except BaseException as error:
            with contextlib.suppress(Refused):
                self.limits.release(counted)
            if isinstance(error, click.ClickException):
                raise Refused("SIGNER_REFUSED", "the signer did not sign it") from error
            raise
        if prepared.step is not None and prepared.step.trade is None:
            self.limits.name_trade(counted, hash_of(raw))
        return await self.preparer.submit(prepared, raw)


def _within(confirmed: Prepared, again: Prepared) -> Prepared:
    """Return what a newer quote gives, if it is what was confirmed. Raises Refused."""
    if again.kind != confirmed.kind:
        raise Refused(
            "NEEDS_APPROVAL",
            "a new quote goes through a router that needs an approval: prepare the swap again;"
            " nothing was signed",
        )
    if again.max_gas_cost > confirmed.most_gas_wei:
        raise Refused(
            "DEARER",
            "its gas may cost more than was confirmed: prepare it again; nothing was signed",
        )
    return again


def _amount(token: DisplayToken, amount: int) -> str:
    """Return an amount with its token; in smallest units where only a service tells decimals."""
    if token == ETHER:
        return token.show(amount)
    if token.raw:
        return f"{amount} smallest units of {token.address}"
    return f"{token.show(amount)} ({token.address})"


def _wrap_line(request: WrapRequest, quote: WrapQuoteResponse) -> str:
    amount = format_units(int(quote.amount_wei), 18)
    into = "ETH into WETH" if request.operation == "wrap" else "WETH into ETH"
    return f"{request.operation} {amount} {into}"


def _approval_lines(prepared: Prepared, kept: KeptQuote) -> tuple[str, ...]:
    """Return what an approval allows; 0 is a reset. Its swap may need another one."""
    router, count = Address(kept.quote.dex_route.target), prepared.approvals
    amount = int(prepared.transaction["data"][-64:], 16)
    before = "for a swap" if count == 1 else f"the first of {count} approvals for a swap"
    return (
        f"approve {ROUTERS.get(router, 'the router')} {router} to move",
        f"{_amount(kept.sell, amount)}, {before} into at least",
        _amount(kept.buy, int(kept.quote.min_buy_amount)),
    )


def _swap_lines(kept: KeptQuote, step: ReadyStep | None) -> tuple[str, ...]:
    """Return what a swap does; one of a trade with ETH keeps the terms of the trade."""
    quote = kept.quote
    least = int(quote.min_buy_amount) if step is None else step.terms.at_least
    return (
        f"swap {_amount(kept.sell, int(quote.sell_amount))}",
        f"for at least {_amount(kept.buy, least)},",
        f"quoted: {_amount(kept.buy, int(quote.buy_amount))}",
    )


def _batch_lines(batch: str | None, kept: KeptQuote) -> tuple[str, ...]:
    """Return what one transaction does beside the swap; of bought ETH only the minimum is ETH."""
    if batch is None:
        return ()
    rest = " (the minimum arrives as ETH, the rest as WETH)" if kept.buy == ETHER else ""
    return (f"in one transaction of the wallet: {batch}{rest}",)


def _trade_lines(step: ReadyStep, pair: Pair) -> tuple[str, ...]:
    """Return what a swap with ETH sells at the least price, and its signatures with this one."""
    terms, (sell, buy) = step.terms, pair
    count = len(step.steps)
    each = "this is the last signature" if count == 1 else f"{count} signatures, this is the first"
    return (
        f"a swap of {_amount(sell, terms.sell_amount)}",
        f"for at least {_amount(buy, terms.at_least)},",
        f"{each}: {', '.join(step.steps)}",
    )


def _spendings(prepared: Prepared) -> tuple[Spending, ...]:
    """Return what is checked and asked for: the gas and the sale of this and of what follows."""
    return (Spending(ETHER, prepared.most_gas_of_all), *_sale(prepared))


def _sale(prepared: Prepared) -> tuple[Spending, ...]:
    """Return what a swap sells, or what the swap after an approval or a wrap will sell.

    ETH is counted as its WETH: a limit of the one holds for both.
    """
    step = prepared.step
    if step is not None and prepared.pair is not None:
        sold = Spending(in_weth(prepared.pair[0]), step.terms.sell_amount, step.trade)
        return () if prepared.kind == "unwrap" else (sold,)
    if prepared.kept is None:
        return ()
    return (Spending(in_weth(prepared.kept.sell), int(prepared.kept.quote.sell_amount)),)


def _signed(prepared: Prepared) -> tuple[Spending, ...]:
    gas = Spending(ETHER, prepared.max_gas_cost)
    return (gas, *_sale(prepared)) if prepared.kind in ("swap", "wrap") else (gas,)
