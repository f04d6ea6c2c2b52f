"""The same swap sent publicly and privately at the same price, and who took what.

The chain is put back between the two, so that both meet the same pools. What the searcher did is
read from the blocks, not from anyone's word.
"""

from typing import Any

from quietswap.cli.demo_report import Report, Sent
from quietswap.cli.follow import Progress
from quietswap.cli.tokens import KNOWN
from quietswap.client import ClientError, QuietswapClient, Receipt, SwapRequest, chain
from quietswap.client.approvals import ensure_allowance, send_public
from quietswap.client.chain import NodeCall
from quietswap.client.resources import OrderStatus, Submission, SwapQuote
from quietswap.client.safety import check_quote
from quietswap.client.swaps import Event

WETH, USDC = KNOWN["WETH"], KNOWN["USDC"]
AMOUNT = 20 * 10**18
"""Large enough for the pool that a sandwich pays its two fees; 1 WETH would not be attacked."""
SLIPPAGE_BPS = 100


class Comparison:
    """Swaps AMOUNT of WETH twice."""

    def __init__(self, report: Report, client: QuietswapClient, account: Any) -> None:
        self._report = report
        self._client = client
        self._account = account
        self._wallet = str(account.address)
        self._request = SwapRequest(WETH.address, USDC.address, AMOUNT, self._wallet, SLIPPAGE_BPS)

    def __call__(self) -> None:
        """Compare, and check that only the public swap lost anything."""
        node = self._client.node
        progress = self._report.title("6  The same swap twice: 20 WETH for USDC")
        self._approve()
        before = node(NodeCall("evm_snapshot", (), str))
        public = self._publicly()
        progress.say("public     sent to everybody's mempool, mined", "yellow")
        if not node(NodeCall("evm_revert", (before,), bool)):
            raise ClientError("the sandbox's chain could not be put back")
        progress.say("           chain put back to the block before", "dim")
        private = self._privately(progress)
        self._report.comparison(public, private, WETH, USDC)
        self._check(public, private)

    def _check(self, public: Sent, private: Sent) -> None:
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

    def _approve(self) -> None:
        quote = self._client.quote(self._request)
        self._client.run(
            ensure_allowance(
                token=quote.sell_token,
                router=quote.dex_route.target,
                amount=AMOUNT,
                wallet=self._wallet,
                signer=self._account,
                approval="exact",
                polling=self._client.polling,
            )
        )

    def _publicly(self) -> Sent:
        """Send the quoted call as an ordinary transaction with a tip through the node."""
        quote = self._client.quote(self._request)
        check_quote(quote, self._request)
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

    def _privately(self, progress: Progress) -> Sent:
        def told(event: Event) -> None:
            if isinstance(event, Submission):
                progress.name(event.order.status)
            elif isinstance(event, OrderStatus):
                progress.state(event)

        result = self._client.swap(self._request, self._account, told)
        self._report.check("the private swap was confirmed", holds=result.succeeded)
        receipt = None
        if result.succeeded and result.status.tx_hash is not None:
            receipt = self._client.node(chain.receipt(result.status.tx_hash))
        if receipt is None:
            raise ClientError(f"the private swap is {result.status.status}")
        return self._sent(result.quote, receipt)

    def _sent(self, quote: SwapQuote, receipt: Receipt) -> Sent:
        attackers, searcher = self._around(receipt)
        gain = 0
        for tx_hash in attackers:
            other = self._client.node(chain.receipt(tx_hash))
            if other is not None and searcher is not None:
                gain += chain.received(other, WETH.address, searcher)
        return Sent(
            quote=quote,
            tx_hash=receipt.transaction_hash,
            received=chain.received(receipt, USDC.address, self._wallet),
            attackers=attackers,
            searcher=searcher,
            gain=gain,
        )

    def _around(self, receipt: Receipt) -> tuple[tuple[str, ...], str | None]:
        """Return the transactions of one sender before and after ours in its block."""
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


def _same_price(one: SwapQuote, other: SwapQuote) -> bool:
    """Whether every source that answered both times said the same (one may miss its deadline)."""
    first, second = (
        {row.source: row.simulated for row in quote.sources if row.simulated is not None}
        for quote in (one, other)
    )
    both = first.keys() & second.keys()
    return bool(both) and all(first[source] == second[source] for source in both)
