"""The tools. Their docstrings are what a model reads; what is signed, another signer signs."""

import contextlib
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from quietswap.cli.mcp import quotes
from quietswap.cli.mcp.answers import UNTRUSTED, BadInput, marked
from quietswap.cli.mcp.arguments import (
    AmountArgument,
    BatchArgument,
    LossArgument,
    NewTradeArgument,
    OffsetArgument,
    OrderArgument,
    PreparedArgument,
    ReceiveArgument,
    RowsArgument,
    SlippageArgument,
    SmallestArgument,
    TokenArgument,
    TradeArgument,
    WalletArgument,
)
from quietswap.cli.mcp.prepare import Prepared, Preparer, shown
from quietswap.cli.options.trade import Amounts, token_of
from quietswap.cli.output import order_end
from quietswap.cli.output.tokens import ETHER, KNOWN, DisplayToken
from quietswap.client import CancelRequest, OrderStillOpen, SwapRequest, WrapRequest, node_calls
from quietswap.client.flows import finality, polling
from quietswap.client.flows.approvals import require_mainnet
from quietswap.client.flows.effects import Flow, perform_all
from quietswap.client.flows.quoting import judge_quote
from quietswap.rules import wire as base
from quietswap.rules.amounts import UINT256_MAX, format_units
from quietswap.rules.contract import request_limits
from quietswap.rules.contract.orders import OrderStatusResponse
from quietswap.rules.contract.tokens import TokenEntry
from quietswap.rules.orders.new_order import action
from quietswap.rules.tx.signed import SIZE_CAP

VALID_S = 30
"""A quote is valid for about 30 s, by the interface."""
MOST_WAIT_S = 60
_INTERVAL_S = 2.0
"""Time between two reads of an order's status where the event stream does not work."""


class Tools:
    """The tools of one server, which keeps what was quoted."""

    def __init__(self, preparer: Preparer) -> None:
        self._preparer, self._client = preparer, preparer.client
        missing = "no quote of this process has this id, or it is too old"
        self._quotes = quotes.Kept[quotes.KeptQuote]("quote_id", missing)

    async def search_tokens(
        self,
        query: Annotated[
            str,
            Field(
                description="Part of a symbol or name, or an address",
                max_length=request_limits.MAX_SEARCH,
            ),
        ] = "",
        limit: RowsArgument = 20,
        offset: OffsetArgument = 0,
    ) -> dict[str, Any]:
        """Search tokens by symbol, name or address. Symbols are not unique: compare the address.

        Read `warnings` before a trade. An address also finds a token of no list.
        """
        page = await self._client.tokens(query, limit=limit, offset=offset)
        tokens = [_token(token) for token in page.tokens]
        return {"tokens": tokens, "total": page.total, "hasMore": page.has_more}

    async def price(
        self,
        sell: TokenArgument,
        buy: TokenArgument,
        amount: AmountArgument,
        smallest_units: SmallestArgument = False,
    ) -> dict[str, Any]:
        """Show an indicative price, without a wallet. Nothing is verified: `quote` verifies."""
        selling, buying = await self._preparer.pair(sell, buy)
        units = quotes.read_units(amount, selling, smallest=smallest_units)
        indicative = await self._client.price(token_of(selling), token_of(buying), units)
        in_whole_tokens = quotes.whole_tokens(
            sellAmount=(selling, indicative.sell_amount), buyAmount=(buying, indicative.buy_amount)
        )
        loss = quotes.loss_members(judge_quote(indicative, 0))
        return {"inWholeTokens": in_whole_tokens, **marked(indicative, "loss"), "loss": loss}

    async def quote(
        self,
        sell: TokenArgument,
        buy: TokenArgument,
        wallet: WalletArgument,
        amount: AmountArgument | None = None,
        receive: ReceiveArgument = None,
        slippage_bps: SlippageArgument = request_limits.DEFAULT_SLIPPAGE_BPS,
        smallest_units: SmallestArgument = False,
    ) -> dict[str, Any]:
        """Ask for the best verified route for a wallet. Nothing is signed or sent.

        `issues` says what the wallet lacks; `loss` what the swap may lose. The quote is valid for
        about 30 seconds; `explain_quote` says why it is what it is. With ETH it is of the WETH, and
        `plan` has what a swap would sign.
        """
        pair = await self._preparer.pair(sell, buy)
        amounts = _amounts(pair, smallest_units, amount=amount, receive=receive)
        request = _swap_request(pair, wallet, slippage_bps, amounts)
        swap_quote = await self._client.quote(request)
        at, ether = self._preparer.monotonic(), None
        if pair[0] == ETHER:
            ether = int((await self._client.wrap_info(request.wallet)).balances.eth.wei)
        kept_quote = quotes.KeptQuote(swap_quote, request, *pair, at, ether)
        return self._with_id(self._quotes.add(kept_quote), quotes.summary(kept_quote))

    async def explain_quote(
        self, quote_id: Annotated[str, Field(description="quoteId of a quote")]
    ) -> dict[str, Any]:
        """Explain a quote: each source, verification, loss, MEV, and what its transaction does.

        `checks` is the result of this program's own checks, which do not trust the service.
        """
        kept, has_node = self._quotes[quote_id], self._preparer.has_node
        return self._with_id(
            quote_id, await quotes.explained(kept, self._client, has_node=has_node)
        )

    def _with_id(self, quote_id: str, parts: dict[str, Any]) -> dict[str, Any]:
        age = self._preparer.monotonic() - self._quotes[quote_id].at
        return {"quoteId": quote_id, "validForSeconds": max(0, round(VALID_S - age)), **parts}

    async def follow_order(
        self,
        order_id: OrderArgument,
        wait_seconds: Annotated[
            int, Field(description="0: return the status at once", ge=0, le=MOST_WAIT_S)
        ] = 0,
    ) -> dict[str, Any]:
        """Return how an order stands; wait until it is final, or for `wait_seconds`.

        `final` is true only if the person's own node shows the end, and `outcome` is what it shows:
        mined, reverted or replaced. `reportedByService` is a claim that proves nothing. Read
        `conclusion`. While `mayBeMined` is true, never repeat the order with another nonce. An
        order of a swap with ETH names its `trade`: resume_swap tells whether steps are left.
        """
        seen: list[OrderStatusResponse] = []
        own, started = self._client.orders.get(order_id), self._preparer.monotonic()
        patient = replace(
            self._client.polling, patience_s=float(wait_seconds), interval_s=_INTERVAL_S
        )
        flow = polling.follow_order(
            order_id, patient, seen.append, signed_hash=own.tx_hash if own else None
        )
        with contextlib.suppress(OrderStillOpen):
            await self._client.run(flow)
        rest_s = max(started + wait_seconds - self._preparer.monotonic(), 0.0)
        end = await self._client.run(
            finality.judge_record(seen[-1], own, patient, rest_s, has_node=self._preparer.has_node)
        )
        return {
            **({"trade": own.trade} if own and own.trade else {}),
            "final": end.is_final,
            "outcome": end.fate or "unchecked",
            "mayBeMined": end.may_be_mined,
            "conclusion": order_end.conclusion(replace(end, trouble=None)),
            "reportedByService": marked(end.record),
        }

    async def list_orders(
        self,
        wallet: WalletArgument,
        limit: RowsArgument = 20,
        offset: OffsetArgument = 0,
        status: base.OrderState | None = None,
        kind: base.OrderKindFilter = "any",
        as_of: Annotated[
            int | None,
            Field(
                description="With offset: the `total` of your first page; then each order comes"
                " once, although others arrived since",
                ge=0,
            ),
        ] = None,
    ) -> dict[str, Any]:
        """List the orders of a wallet that were placed with this API key, newest first.

        The states are those that the service reports: follow_order compares one with the person's
        own node. `action` tells a wrap from an unwrap, which are one `kind`.
        """
        page = await self._client.order_history(
            quotes.read_wallet(wallet),
            limit=limit,
            offset=offset,
            status=status,
            kind=kind,
            as_of=as_of,
        )
        return {
            "reportedByService": True,
            "orders": [
                {**marked(each), "action": action(each.kind, each.summary.sell_token)}
                for each in page.orders
            ],
            "total": page.total,
            "hasMore": page.has_more,
        }

    async def prepare_swap(
        self,
        sell: TokenArgument,
        buy: TokenArgument,
        wallet: WalletArgument,
        amount: AmountArgument | None = None,
        receive: ReceiveArgument = None,
        max_sell: Annotated[
            str | None,
            Field(
                description="Needed with receive: the most of `sell` that may be sold for it, in"
                " digits. Ask the person for it."
            ),
        ] = None,
        slippage_bps: SlippageArgument = request_limits.DEFAULT_SLIPPAGE_BPS,
        at_least: Annotated[
            str | None,
            Field(description="Refuse a quote whose minimum is below this, in tokens of `buy`"),
        ] = None,
        max_loss_percent: LossArgument = None,
        smallest_units: SmallestArgument = False,
        new_trade: NewTradeArgument = False,
        batch: BatchArgument = False,
    ) -> dict[str, Any]:
        """Prepare a swap for signing: a fresh quote that passed all checks. Nothing is sent.

        `kind` is `approval` if the router needs one first, of `approvalsToSign`: have that signed
        and submitted, then prepare the swap again. Sign `transaction` unchanged; `hashToSign` is
        its EIP-1559 hash. Then call submit_signed within 30 seconds.

        With ETH this is the first of several transactions: `swapWithEth` has the terms of all, the
        steps, and their gas. After each one is submitted, resume_swap prepares the next. With
        `batch` it is one, and `inOneTransaction` says what it does.
        """
        pair = await self._preparer.pair(sell, buy)
        written = {"amount": amount, "receive": receive, "max_sell": max_sell, "at_least": at_least}
        if not (self._preparer.has_node or smallest_units):
            _require_own_decimals(pair, written)
        if receive is not None and max_sell is None:
            raise BadInput("max_sell", "receive needs it: the most that may be sold")
        request = _swap_request(
            pair, wallet, slippage_bps, _amounts(pair, smallest_units, **written)
        )
        if new_trade and ETHER not in pair:
            raise BadInput("new_trade", "it is for a swap with ETH")
        prepared = await self._preparer.swap(
            replace(request, new_trade=new_trade, batch=batch),
            *pair,
            max_loss_percent=_percent(max_loss_percent),
        )
        return shown(prepared, self._preparer.kept.add(prepared))

    async def resume_swap(
        self,
        trade: TradeArgument,
        slippage_bps: SlippageArgument = request_limits.DEFAULT_SLIPPAGE_BPS,
        max_loss_percent: LossArgument = None,
    ) -> dict[str, Any]:
        """Prepare the next transaction of a swap with ETH, at the terms that were accepted.

        Waits up to 45 seconds for what is open; call it again if it is still open. What the
        person's own node shows as done is never done again, also after a restart. `final` true is
        the end: `received` is what that node shows, and `ok` that it is the minimum or more. Before
        another swap of the same pair, ask for the end once more: only then it surely arrived.
        """
        following = await self._preparer.resume(trade, slippage_bps, _percent(max_loss_percent))
        if isinstance(following, Prepared):
            return shown(following, self._preparer.kept.add(following))
        return following

    async def balances(
        self,
        wallet: WalletArgument,
        tokens: Annotated[
            list[TokenArgument] | None,
            Field(description="Tokens to read; without it the built-in ones", max_length=20),
        ] = None,
    ) -> dict[str, Any]:
        """Read what a wallet holds: ETH and tokens, at the person's own node if there is one.

        Gas is paid in ETH.
        """
        owner, names = quotes.read_wallet(wallet), tokens or list(KNOWN)
        has_node = self._preparer.has_node
        chosen = [
            await quotes.find_token("tokens", name, self._client, has_node=has_node)
            for name in names
        ]
        if has_node:
            amounts: tuple[int | None, ...] = await self._client.run(_held(owner, chosen))
        else:
            wallet_balances = await self._client.balances(
                owner, [token.address for token in chosen]
            )
            amounts = (
                wallet_balances.eth.wei,
                *(token.balance for token in wallet_balances.tokens),
            )
        ether, rows = int(amounts[0] or 0), [*map(_balance, chosen, amounts[1:])]
        return {
            "wallet": owner,
            "readAt": "own node" if has_node else "service",
            "eth": {"wei": str(ether), "inWholeTokens": format_units(ether, 18)},
            "tokens": rows,
        }

    async def prepare_wrap(
        self,
        operation: Annotated[
            base.WrapOperation, Field(description="wrap: ETH into WETH; unwrap: WETH into ETH")
        ],
        amount: Annotated[str, Field(description="Amount in whole ETH, in digits, such as 0.5")],
        wallet: WalletArgument,
    ) -> dict[str, Any]:
        """Prepare a wrap of ETH into WETH, one to one, or an unwrap. It costs gas, nothing else.

        Have `transaction` signed unchanged, then call submit_signed. Needs the person's own node.
        """
        quotes.read_units(amount, ETHER, smallest=False)
        if not self._preparer.has_node:
            raise BadInput(
                "wallet",
                "its next nonce is read at the person's own node: have quietswap mcp started with"
                " --rpc-url",
            )
        request = WrapRequest(operation, amount, quotes.read_wallet(wallet))
        prepared = await self._preparer.wrap(request)
        return shown(prepared, self._preparer.kept.add(prepared))

    async def prepare_cancel(
        self,
        order_id: OrderArgument,
        wallet: WalletArgument,
        nonce: Annotated[
            int | None,
            Field(
                description="The nonce that the order was signed with; needed if another program"
                " submitted it",
                ge=0,
                le=base.MAX_SAFE_INTEGER,
            ),
        ] = None,
    ) -> dict[str, Any]:
        """Prepare the cancel of an open order: an empty transfer of the wallet to itself.

        It has the order's nonce, so at most one of the two is mined. It costs gas.
        """
        request = CancelRequest(order_id, quotes.read_wallet(wallet), nonce=nonce)
        prepared = await self._preparer.cancel(request)
        return shown(prepared, self._preparer.kept.add(prepared))

    async def submit_signed(
        self,
        prepared_id: PreparedArgument,
        signed_transaction: Annotated[
            str,
            Field(
                description="The signed transaction, raw, as 0x-hex", max_length=2 * SIZE_CAP + 2
            ),
        ],
    ) -> dict[str, Any]:
        """Submit what the wallet's own signer signed: exactly the prepared transaction.

        A swap or a cancel goes to the private relay: follow_order shows what becomes of it. An
        approval is public; this waits until it is mined. An error with `mayBeMined` true means that
        it was sent: never sign another nonce before this one is decided.
        """
        return await self._preparer.submit(self._preparer.kept[prepared_id], signed_transaction)


def _held(wallet: str, tokens: list[DisplayToken]) -> Flow[tuple[int, ...]]:
    """Return a wallet's ETH in wei, and its balance of each token in smallest units."""
    yield from require_mainnet()
    reads = [node_calls.token_balance(token.address, wallet) for token in tokens]
    found: tuple[int, ...] = yield from perform_all(node_calls.eth_balance(wallet), *reads)
    return found


def _balance(token: DisplayToken, amount: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {"address": token.address}
    row |= {"symbol": token.symbol} if token in KNOWN.values() else {}
    if amount is not None:
        row |= {"balance": str(int(amount))}
        row |= {} if token.raw else {"inWholeTokens": format_units(amount, token.decimals)}
    return row


def _token(entry: TokenEntry) -> dict[str, Any]:
    """Return a token; the symbol of a built-in one is no text of a stranger."""
    row: dict[str, Any] = marked(entry, "logoURI")
    built_in = KNOWN.get(entry.symbol)
    if built_in is None or built_in.address != entry.address:
        return row
    texts = row.get(UNTRUSTED, {})
    texts.pop("symbol", None)
    if not texts:
        row.pop(UNTRUSTED, None)
    return {"symbol": built_in.symbol, **row}


def _amounts(
    pair: tuple[DisplayToken, DisplayToken],
    smallest: bool,
    *,
    amount: str | None,
    receive: str | None,
    max_sell: str | None = None,
    at_least: str | None = None,
) -> Amounts:
    """Return what is asked for; without `max_sell` any amount may be sold. Raises BadInput."""
    sell, buy = pair

    def units(name: str, text: str, token: DisplayToken) -> int:
        return quotes.read_units(text, token, smallest=smallest, name=name)

    if receive is None:
        if amount is None:
            raise BadInput("amount", "give amount, or receive in its place")
        if max_sell is not None:
            raise BadInput("max_sell", "it is for receive: amount is sold exactly")
        exact: Amounts = {"sell_amount": units("amount", amount, sell)}
        if at_least is not None:
            exact["at_least"] = units("at_least", at_least, buy)
        return exact
    if amount is not None:
        raise BadInput("receive", "it takes the place of amount: give one of the two")
    if at_least is not None:
        raise BadInput("at_least", "receive is the least that must arrive")
    most = UINT256_MAX if max_sell is None else units("max_sell", max_sell, sell)
    least = units("receive", receive, buy)
    return {"sell_amount": None, "at_least": least, "max_sell": most}


def _swap_request(
    pair: tuple[DisplayToken, DisplayToken],
    wallet: str,
    slippage_bps: int,
    amounts: Amounts,
) -> SwapRequest:
    """Return the request of a swap. Raises BadInput."""
    sell, buy = pair
    owner = quotes.read_wallet(wallet)
    return SwapRequest(
        token_of(sell), token_of(buy), wallet=owner, slippage_bps=slippage_bps, **amounts
    )


def _require_own_decimals(
    pair: tuple[DisplayToken, DisplayToken], written: dict[str, str | None]
) -> None:
    """Refuse amounts to sign whose decimals only the service tells. Raises BadInput."""
    for name in (name for name, text in written.items() if text is not None):
        token = pair[1] if name in ("receive", "at_least") else pair[0]
        if token not in (ETHER, *KNOWN.values()):
            raise BadInput(
                name,
                f"only the service tells the decimals of {token.address}, and it would be signed:"
                " use smallest_units, or have quietswap mcp started with --rpc-url",
            )


def _percent(loss: float | None) -> Decimal | None:
    return None if loss is None else Decimal(str(loss))
