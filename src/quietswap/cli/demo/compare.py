"""Compares a public with a private swap: the amounts received and the searcher's profit.

The chain is reverted between the two, so that both have the same pool state. The searcher's
transactions are read from the blocks.
"""

from typing import Any

from quietswap.cli.demo.report import DemoReport, SwapResultRow
from quietswap.cli.output.progress import OrderProgress
from quietswap.cli.output.tokens import KNOWN
from quietswap.client import ClientError, NodeReceipt, QuietswapClient, SwapRequest, node_calls
from quietswap.client.flows.approvals import send_public
from quietswap.client.flows.quoting import approved_quote
from quietswap.client.flows.swap import Event
from quietswap.client.node_calls import NodeCall
from quietswap.contract.orders import OrderStatusResponse, SwapOrderResponse
from quietswap.contract.quotes import SwapQuoteResponse

WETH, USDC = KNOWN["WETH"], KNOWN["USDC"]
AMOUNT = 20 * 10**18
"""Large enough for a profitable sandwich after two fees. 1 WETH would not be attacked."""
SLIPPAGE_BPS = 100


class Comparison:
    """Swaps AMOUNT of WETH twice."""

    def __init__(self, report: DemoReport, client: QuietswapClient, account: Any) -> None:
        self._report = report
        self._client = client
        self._account = account
        self._wallet = str(account.address)
        self._request = SwapRequest(WETH.address, USDC.address, AMOUNT, self._wallet, SLIPPAGE_BPS)

    def __call__(self) -> None:
        """Compare both swaps, and check that only the public one lost anything."""
        node = self._client.node
        progress = self._report.title("6  The same swap twice: 20 WETH for USDC")
        quote = self._approved_quote()
        before = node(NodeCall("evm_snapshot", (), str))
        public = self._publicly(quote)
        progress.say("public     sent to the public mempool, mined", "yellow")
        if not node(NodeCall("evm_revert", (before,), bool)):
            raise ClientError("the sandbox's chain could not be reverted")
        progress.say("           chain reverted to the block before", "dim")
        private = self._privately(progress)
        self._report.comparison(public, private, WETH, USDC)
        self._check(public, private)

    def _check(self, public: SwapResultRow, private: SwapResultRow) -> None:
        check = self._report.check
        check("both met the same price", holds=_same_price(public.quote, private.quote))
        check(
            f"the public swap lost {USDC.show(max(public.lost, 0))} to a sandwich",
            holds=public.lost > 0 and len(public.attackers) >= 2,
        )
        check(
            "the private swap lost nothing to the searcher",
            holds=private.lost <= 0 and not private.attackers,
        )

    def _approved_quote(self) -> SwapQuoteResponse:
        """Return a checked quote whose router has an allowance for the sell amount."""
        quote, _ = self._client.run(
            approved_quote(
                self._request, self._account, self._client.polling, lambda _: None, has_node=True
            )
        )
        return quote

    def _publicly(self, quote: SwapQuoteResponse) -> SwapResultRow:
        """Send the quoted call through the node as a public transaction with a tip."""
        params = quote.mev_protection.transaction_params
        receipt = self._client.run(
            send_public(
                "the public swap",
                to=params.to,
                data=params.data,
                wallet=self._wallet,
                signer=self._account,
                polling=self._client.polling,
                gas_limit=params.gas_limit,
            )
        )
        return self._sent(quote, receipt)

    def _privately(self, progress: OrderProgress) -> SwapResultRow:
        def print_event(event: Event) -> None:
            if isinstance(event, SwapOrderResponse):
                progress.name(event.order.status)
            elif isinstance(event, OrderStatusResponse):
                progress.state(event)

        result = self._client.swap(self._request, self._account, print_event)
        self._report.check("the private swap was confirmed", holds=result.succeeded)
        receipt = None
        if result.succeeded and result.status.tx_hash is not None:
            receipt = self._client.node(node_calls.receipt(result.status.tx_hash))
        if receipt is None:
            raise ClientError(f"the private swap is {result.status.status}")
        return self._sent(result.quote, receipt)

    def _sent(self, quote: SwapQuoteResponse, receipt: NodeReceipt) -> SwapResultRow:
        attackers, searcher = self._around(receipt)
        gain = 0
        for tx_hash in attackers:
            other = self._client.node(node_calls.receipt(tx_hash))
            if other is not None and searcher is not None:
                gain += node_calls.received(other, WETH.address, searcher)
        return SwapResultRow(
            quote=quote,
            tx_hash=receipt.transaction_hash,
            received=node_calls.received(receipt, USDC.address, self._wallet),
            attackers=attackers,
            searcher=searcher,
            gain=gain,
        )

    def _around(self, receipt: NodeReceipt) -> tuple[tuple[str, ...], str | None]:
        """Return hashes and sender of the transactions around ours by the same sender."""
        block = self._client.node(
            NodeCall("eth_getBlockByNumber", (hex(receipt.block_number), True), dict)
        )
        rows = [(tx["hash"], tx["from"]) for tx in block["transactions"]]
        at = [tx_hash for tx_hash, _ in rows].index(receipt.transaction_hash)
        before, after = rows[:at], rows[at + 1 :]
        both = {sender for _, sender in before} & {sender for _, sender in after}
        for searcher in both:
            hashes = tuple(h for h, sender in (*before, *after) if sender == searcher)
            return hashes, str(searcher)
        return (), None


def _same_price(one: SwapQuoteResponse, other: SwapQuoteResponse) -> bool:
    """Return whether each source that responded both times gave the same amount."""
    first, second = (
        {row.source: row.simulated for row in quote.sources if row.simulated is not None}
        for quote in (one, other)
    )
    both = first.keys() & second.keys()
    return bool(both) and all(first[source] == second[source] for source in both)
