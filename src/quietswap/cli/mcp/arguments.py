"""Arguments of the tools, with what a model reads about them."""

from typing import Annotated

from pydantic import Field

from quietswap.rules.contract import request_limits

MOST_ROWS = 50


TokenArgument = Annotated[
    str,
    Field(
        description="WETH, USDC, USDT, DAI or WBTC, or the address of another token; search_tokens"
        " finds it. ETH, too, in a price, a quote and a swap: it is wrapped before it or unwrapped"
        " after it"
    ),
]
AmountArgument = Annotated[
    str, Field(description="Amount of the sold token in digits, such as 1.5: whole tokens")
]
ReceiveArgument = Annotated[
    str | None,
    Field(
        description="In the place of amount: the least of `buy` that must arrive, in digits. The"
        " least amount of `sell` that does it is looked for."
    ),
]
SmallestArgument = Annotated[
    bool, Field(description="The amount is written in smallest units, not in whole tokens")
]
WalletArgument = Annotated[str, Field(description="Address of the wallet that sells")]
SlippageArgument = Annotated[
    int,
    Field(
        description="Accepted loss below the quote in basis points: 50 is 0.5 %",
        ge=1,
        le=request_limits.MAX_SLIPPAGE_BPS,
    ),
]
TradeArgument = Annotated[
    str,
    Field(
        description="trade: the hash of a transaction of the swap with ETH",
        pattern=r"^0x[0-9a-fA-F]{64}$",
    ),
]
NewTradeArgument = Annotated[
    bool,
    Field(
        description="With ETH: begin another swap though one of the same pair is unfinished. Ask"
        " the person before you set it."
    ),
]
BatchArgument = Annotated[
    bool,
    Field(
        description="Approve and swap in one transaction, with the wrap or unwrap of ETH; only for"
        " a delegated wallet (EIP-7702). Of bought ETH the rest above the minimum stays WETH"
    ),
]
LossArgument = Annotated[
    float | None,
    Field(
        description="Accept a loss up to this, at most what the person allows (--max-loss)."
        " Without it, 3 % or more is refused. Ask the person before you give it.",
        ge=0,
        le=100,
    ),
]
PreparedArgument = Annotated[str, Field(description="preparedId of what was prepared")]
OrderArgument = Annotated[str, Field(description="Order id", max_length=128)]
RowsArgument = Annotated[int, Field(ge=1, le=MOST_ROWS)]
OffsetArgument = Annotated[int, Field(ge=0, le=request_limits.MAX_OFFSET)]
