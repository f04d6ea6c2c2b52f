"""The tools that prepare and submit: what is signed, the caller's own signer signs."""

from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field

from quietswap.chain.signed import SIZE_CAP
from quietswap.cli.mcp.answers import BadInput
from quietswap.cli.mcp.prepare import Preparer, shown
from quietswap.cli.mcp.quotes import (
    AmountArgument,
    OrderArgument,
    PreparedArgument,
    SlippageArgument,
    SmallestArgument,
    TokenArgument,
    WalletArgument,
    read_units,
    read_wallet,
    swap_request,
)
from quietswap.cli.output.tokens import KNOWN
from quietswap.client.flows.cancel import CancelRequest
from quietswap.contract.base import MAX_SAFE_INTEGER


class WritingTools:
    """The tools that lead to a transaction. Their docstrings are what a model reads."""

    def __init__(self, preparer: Preparer) -> None:
        self._preparer = preparer

    async def prepare_swap(
        self,
        sell: TokenArgument,
        buy: TokenArgument,
        amount: AmountArgument,
        wallet: WalletArgument,
        slippage_bps: SlippageArgument = 50,
        at_least: Annotated[
            str | None,
            Field(description="Refuse a quote whose minimum is below this, in tokens of `buy`"),
        ] = None,
        max_loss_percent: Annotated[
            float | None,
            Field(
                description="Accept a loss up to this. Without it, 3 % or more is refused. Ask the"
                " person before you give it.",
                ge=0,
                le=100,
            ),
        ] = None,
        smallest_units: SmallestArgument = False,
    ) -> dict[str, Any]:
        """Prepare a swap for signing: a fresh quote that passed all checks. Nothing is sent.

        `kind` is `approval` if the router needs an approval first: have that signed and submitted,
        then prepare the swap again. Sign `transaction` unchanged; `hashToSign` is its EIP-1559
        hash. Then call submit_signed within 30 seconds.
        """
        has_node = self._preparer.has_node
        selling, buying = await self._preparer.pair(sell, buy)
        for name, token in (("amount", selling), *((("at_least", buying),) if at_least else ())):
            if not (has_node or smallest_units or token in KNOWN.values()):
                raise BadInput(
                    name,
                    f"only the service tells the decimals of {token.address}, and it would be"
                    " signed: use smallest_units, or have quietswap mcp started with --rpc-url",
                )
        units = read_units(amount, selling, smallest=smallest_units)
        floor = None
        if at_least is not None:
            floor = read_units(at_least, buying, smallest=smallest_units, name="at_least")
        request = swap_request(selling, buying, units, wallet, slippage_bps, at_least=floor)
        most = None if max_loss_percent is None else Decimal(str(max_loss_percent))
        prepared = await self._preparer.swap(request, selling, buying, max_loss_percent=most)
        return shown(prepared, self._preparer.keep(prepared))

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
                le=MAX_SAFE_INTEGER,
            ),
        ] = None,
    ) -> dict[str, Any]:
        """Prepare the cancel of an open order: an empty transfer of the wallet to itself.

        It has the order's nonce, so at most one of the two is mined. It costs gas.
        """
        request = CancelRequest(order_id, read_wallet(wallet), nonce=nonce)
        prepared = await self._preparer.cancel(request)
        return shown(prepared, self._preparer.keep(prepared))

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
        return await self._preparer.submit(self._preparer.get(prepared_id), signed_transaction)
