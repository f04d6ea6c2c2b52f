"""Input and output of the use cases.

The API has already checked form and ranges. Amounts are integers in smallest units (wei for ETH),
times are Unix milliseconds unless a name says otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from quietswap.rules.quotes.at_least import AtLeast
from quietswap.rules.quotes.scoring import Candidate
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.tx.address import Address


@dataclass(frozen=True, slots=True)
class SwapQuoteRequest:
    """A swap to quote: `sell_amount` in smallest units, or the minimum that it has to reach.

    `slippage_bps` in basis points. `verified` is called with each route when it is verified, while
    others are awaited; never while the sell amount is looked for. `conversion`: the batched form of
    a delegated wallet also wraps what is sold, or unwraps the minimum.
    """

    sell_token: Address
    buy_token: Address
    sell_amount: int | AtLeast
    wallet: Address
    slippage_bps: int
    conversion: WrapOperation | None = None
    verified: Callable[[Candidate], None] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class WrapBalances:
    """A wallet's balances in wei, and the wrapped token's name and symbol."""

    name: str
    symbol: str
    eth: int
    weth: int


@dataclass(frozen=True, slots=True)
class IndicativePriceRequest:
    """The swap to price; `sell_amount` in smallest units. It belongs to no wallet.

    With `only_own` no vendor is asked, whatever the own source finds.
    """

    sell_token: Address
    buy_token: Address
    sell_amount: int
    only_own: bool = False


@dataclass(frozen=True, slots=True)
class WrapQuoteRequest:
    """A wrap or unwrap to quote: `amount` in wei."""

    operation: WrapOperation
    amount: int
    wallet: Address
