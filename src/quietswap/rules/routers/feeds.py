"""Chainlink's USD feeds on mainnet (https://docs.chain.link/data-feeds/price-feeds/addresses)."""

from dataclasses import dataclass
from decimal import Decimal

from quietswap.rules.time_units import DAY_S, HOUR_S
from quietswap.rules.tokens.token import DAI, USDC, USDT, WBTC, WETH
from quietswap.rules.tx.address import Address

LATEST_ROUND_DATA = bytes.fromhex("feaf968c")
"""Calldata of `latestRoundData()`: round, answer, started at, updated at, answered in round."""
_SLACK_S = 300
_DECIMALS = 8
_ROUND_BYTES = 5 * 32


@dataclass(frozen=True, slots=True)
class ChainlinkFeed:
    """A feed and its heartbeat: the longest time in seconds between two updates."""

    address: Address
    heartbeat_s: int


FEEDS = {
    WETH: ChainlinkFeed(Address("0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419"), HOUR_S),
    WBTC: ChainlinkFeed(Address("0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c"), HOUR_S),
    USDC: ChainlinkFeed(Address("0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6"), DAY_S),
    USDT: ChainlinkFeed(Address("0x3E7d1eAB13ad0104d2750B8863b489D65364e32D"), DAY_S),
}
"""By token: ETH/USD for WETH, BTC/USD for WBTC, own feeds for USDC and USDT."""

REFERENCE_FEEDS = FEEDS | {
    DAI: ChainlinkFeed(Address("0xAed0c38402a5d19df6E4c03F4E2DceD6e29c1ee9"), HOUR_S)
}
"""Also DAI, for the client: the service uses two web sources for it."""


def usd(
    feed: ChainlinkFeed, round_data: bytes | None, *, block_time: int | None, clock_s: int
) -> Decimal | None:
    """Return USD per whole token of a `latestRoundData` result; None if it is stale or invalid.

    Without either answer of the node it is None as well. Times are Unix seconds. The later of block
    time and clock counts: with a stalled node every price would look fresh.
    """
    if block_time is None or round_data is None or len(round_data) < _ROUND_BYTES:
        return None
    answer = int.from_bytes(round_data[32:64], signed=True)
    age = max(block_time, clock_s) - int.from_bytes(round_data[96:128])
    is_fresh = -_SLACK_S <= age <= feed.heartbeat_s + _SLACK_S
    return Decimal(answer).scaleb(-_DECIMALS) if answer > 0 and is_fresh else None
