"""Waits for a price of the service's own source, then asks for one quote."""

from dataclasses import dataclass

from quietswap.cli.output.order_progress import OrderProgress
from quietswap.cli.output.quote import rate_text
from quietswap.cli.output.tokens import DisplayToken
from quietswap.client import api_calls
from quietswap.client.errors import ClientError, InsufficientLiquidity
from quietswap.client.flows.effects import Flow, Sleep, perform
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.rules.contract.quotes import SwapQuoteResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceWatch:
    """What is waited for: `limit` smallest units of `buy` for one whole token of `sell`, at least
    or at most.
    """

    sell: DisplayToken
    buy: DisplayToken
    limit: int
    is_least: bool

    def is_met(self, sold: int, bought: int) -> bool:
        """Return whether `bought` for `sold`, both in smallest units, reaches the limit."""
        got: int = bought * 10**self.sell.decimals
        limit = self.limit * sold
        return got >= limit if self.is_least else got <= limit

    def quote(
        self, request: SwapRequest, polling: PollingPolicy, progress: OrderProgress
    ) -> Flow[SwapQuoteResponse]:
        """Return the first quote after the limit was reached.

        A failure that may pass is told and waited out; so is a missing route once there was a
        price. Raises ClientError for any other.
        """
        sold = request.sell_amount
        assert sold is not None  # a watch knows what it sells
        ask = api_calls.price(request.sell_token, request.buy_token, sold, only_own=True)
        failures, shown = 0, ""
        while True:
            try:
                bought = int((yield from perform(ask)).buy_amount)
                text = self._text(sold, bought)
                progress.doing = f"{text}, waiting for {self._limit()}"
                if self.is_met(sold, bought):
                    progress.say(f"{text}: {self._limit()} is reached", "green")
                    return (yield from perform(request.call()))
                if not shown:
                    progress.say(progress.doing)
                failures, shown = 0, text
            except ClientError as error:
                if not error.is_transient and not (shown and _is_no_route(error)):
                    raise
                failures += 1
                yield polling.wait(failures, error)
                if _is_no_route(error):  # the next quote asks every vendor again
                    yield Sleep(polling.interval_s or 0)
            else:
                assert polling.interval_s is not None
                yield Sleep(polling.interval_s)

    def _text(self, sold: int, bought: int) -> str:
        price = rate_text(sold, bought, self.sell, self.buy, self.limit)
        return f"1 {self.sell.symbol} is {price} {self.buy.symbol}"

    def _limit(self) -> str:
        return f"at {'least' if self.is_least else 'most'} {self.buy.number(self.limit)}"


def _is_no_route(error: ClientError) -> bool:
    return isinstance(error, InsufficientLiquidity)
