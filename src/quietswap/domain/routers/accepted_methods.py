"""Router methods that are proven to enforce the terms, with the check that enforces them."""

from dataclasses import replace
from typing import Any

from quietswap.domain.routers.method_row import (
    KYBERSWAP,
    ONEINCH,
    SUSHI,
    VELORA,
    ZEROEX,
    CalldataLayout,
    Confidence,
    Measure,
    RouterMethod,
)

_KYBER_FLAGS = 0x40 | 0x80 | 0x200
"""Fee on the bought token, fee in bps, and 0x200, which is set in all recorded answers of 2026 and
which no copy of the source tests."""
_VELORA_CHECK = (
    "`receivedAmount < toAmount` reverts, measured as the router's whole balance of the token; all"
    " but the partner's fee (at most 200 bps), surplus above quotedAmount and 1 unit is paid out"
)
_CURVE_WRAP = "; the wrap flag (bits 161 and 162 of curveData)"
_ONEINCH_SOURCE = "https://github.com/1inch/1inch-v6-aggregation-router"


def _velora(
    selector: str,
    name: str,
    first: int,
    refused: str = "",
    check: str = _VELORA_CHECK,
    **fields: Any,
) -> RouterMethod:
    """Return a row of Augustus, whose terms are the words from `first` on; `fields` differ."""
    layout = CalldataLayout(
        sell=first, buy=first + 1, amount=first + 2, minimum=first + 3, quoted=first + 4,
        recipient=first + 6, partner=first + 7, permit=first + 8, dust=1,
    )  # fmt: skip
    return RouterMethod(
        VELORA,
        selector,
        name,
        "quotedAmount below toAmount; unknown bits of partnerAndFee; a permit" + refused,
        check,
        replace(layout, **fields),
        source="https://github.com/VeloraDEX/augustus-v6",
    )


_UNISWAP: dict[str, Any] = {"within": (0,), "partner": 1, "permit": 2, "pools": 7}

BOUND = (
    RouterMethod(
        KYBERSWAP,
        "e21fd0e9",
        "swap",
        "flags for a partial fill (0x01), extra ETH (0x02), claiming (0x04), burning (0x08, 0x10),"
        " simple mode (0x20), approving (0x100) or unknown ones; a fee on the token sold; a permit",
        "`returnAmount >= minReturnAmount` in _checkReturnAmount, on the recipient's balance before"
        " and after; `total <= desc.amount` in _transferFromOrApproveTarget, of all that is pulled",
        CalldataLayout(
            within=(0, 3),
            sell=0,
            buy=1,
            recipient=6,
            amount=7,
            minimum=8,
            flags=9,
            allowed_flags=_KYBER_FLAGS,
            permit=10,
            permit_within=True,
            fees=4,
        ),
        Measure.RECIPIENT,
        "https://etherscan.io/address/0x6131B5fae19EA4f9D964eAc0408E4408b66337b5#code",
    ),
    _velora("e3ead59e", "swapExactAmountIn", 1),
    _velora(
        "e8bb3b6c",
        "swapExactAmountInOnUniswapV2",
        0,
        "; pools whose length is not a multiple of 64 bytes",
        pool_size=64,
        **_UNISWAP,
    ),
    _velora(
        "876a02f6",
        "swapExactAmountInOnUniswapV3",
        0,
        "; pools whose tokens do not lead from the sell token to the buy token:"
        " the router pulls the first pool's token, for any value of srcToken",
        "`receivedAmount < toAmount` reverts; the callback pays pools of the Uniswap V3 factory"
        " only, and the output is transferred from the router's own balance",
        pool_size=96,
        dust=0,
        **_UNISWAP,
    ),
    _velora("1a01c532", "swapExactAmountInOnCurveV1", 2, _CURVE_WRAP, wrap=0),
    _velora("e37ed256", "swapExactAmountInOnCurveV2", 4, _CURVE_WRAP, wrap=0),
    RouterMethod(
        SUSHI,
        "5f3bd1c8",
        "snwap",
        "amount 0, which means the router's own balance; the zero address as recipient",
        "`amountOut < amountOutMin` reverts, on the recipient's balance before and after; the"
        " executor is called by SafeExecutor, a contract without allowances",
        CalldataLayout(sell=0, amount=1, recipient=2, buy=3, minimum=4, zero_is_sender=False),
        Measure.RECIPIENT,
        "https://etherscan.io/address/0xAC4c6e212A361c968F1725b4d055b47E63F80b75#code",
    ),
    RouterMethod(
        ZEROEX,
        "2213bc0b",
        "exec around Settler.execute",
        "an operator other than the target; a target that 0x's Deployer does not name as current"
        " or previous taker-submitted Settler; any other nested call; the zero address as"
        " recipient",
        "_checkSlippageAndTransfer of Settler on its whole balance of the buy token;"
        " AllowanceHolder allows only the operator to take at most `amount` of `token` in this"
        " call",
        CalldataLayout(sell=1, amount=2, buy=1, recipient=0, minimum=2, zero_is_sender=False),
        source="https://github.com/0xProject/0x-settler",
        confidence=Confidence.VENDOR,
        nested="1fff991f",
    ),
    RouterMethod(
        ONEINCH,
        "07ed2379",
        "swap",
        "any flag: partial fill (1), extra ETH (2), Permit2 (4) or unknown ones",
        "`returnAmount < minReturnAmount` reverts; the executor reports returnAmount, and exactly"
        " this amount is then transferred from the router's own balance",
        CalldataLayout(sell=1, buy=2, recipient=4, amount=5, minimum=6, flags=7),
        source=_ONEINCH_SOURCE,
        confidence=Confidence.ADAPTED,
    ),
    RouterMethod(
        ONEINCH,
        "83800a8e",
        "unoswap",
        "a pool that is not, by CREATE2, the pair of the two tokens of Uniswap V2, Sushi V2 or"
        " Uniswap V3; a direction that does not sell the sell token; Curve; unwrapping, Permit2"
        " and unknown bits of the pool's word",
        "`ret < minReturn` reverts; the pool reports ret, so the pool must be genuine",
        CalldataLayout(sell=0, amount=1, minimum=2, dex=3),
        source=_ONEINCH_SOURCE,
        confidence=Confidence.ADAPTED,
    ),
)
