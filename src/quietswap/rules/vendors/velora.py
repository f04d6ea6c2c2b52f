"""Velora: its router's methods, each with the proof or the reason of its refusal."""

from dataclasses import replace
from typing import Any

from quietswap.rules.routers.method import CalldataLayout, RouterMethod
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import RequestBudget, Vendor, VendorTerms, refused

ROUTER = Address("0x6A000F20005980200259B80c5102003040001068")
"""Only in this version router and spender are the same contract."""
_CHECK = (
    "`receivedAmount < toAmount` reverts, measured as the router's whole balance of the token; all"
    " but the partner's fee (at most 200 bps), surplus above quotedAmount and 1 unit is paid out"
)
_CURVE_WRAP = "; the wrap flag (bits 161 and 162 of curveData)"


def _row(
    selector: str, name: str, first: int, also_refused: str = "", check: str = _CHECK, **fields: Any
) -> RouterMethod:
    """Return a row of Augustus, whose terms are the words from `first` on; `fields` differ."""
    layout = CalldataLayout(
        sell=first, buy=first + 1, amount=first + 2, minimum=first + 3, quoted=first + 4,
        recipient=first + 6, partner=first + 7, permit=first + 8, dust=1,
    )  # fmt: skip
    return RouterMethod(
        selector,
        name,
        "quotedAmount below toAmount; unknown bits of partnerAndFee; a permit" + also_refused,
        check,
        replace(layout, **fields),
        source="https://github.com/VeloraDEX/augustus-v6",
    )


_UNISWAP: dict[str, Any] = {"within": (0,), "partner": 1, "permit": 2, "pools": 7}
VENDOR = Vendor(
    name="velora",
    title="Velora",
    place=20,
    url="https://api.velora.xyz",
    budget=RequestBudget(1.0, 3000),
    terms=VendorTerms(
        "none; paid plans have one",
        "1 request/s and 3,000 a day; on the call used here less, how much is not published",
        "nothing when the caller names itself, as we do",
        "docs 2026-06",
    ),
    router=ROUTER,
    router_name="Velora Augustus v6.2",
    methods=(
        _row("e3ead59e", "swapExactAmountIn", 1),
        _row(
            "e8bb3b6c",
            "swapExactAmountInOnUniswapV2",
            0,
            "; pools whose length is not a multiple of 64 bytes",
            pool_size=64,
            **_UNISWAP,
        ),
        _row(
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
        _row("1a01c532", "swapExactAmountInOnCurveV1", 2, _CURVE_WRAP, wrap=0),
        _row("e37ed256", "swapExactAmountInOnCurveV2", 4, _CURVE_WRAP, wrap=0),
        *refused(
            "its tokens and its beneficiary are in a nested call and a packed word",
            "d85ca173 swapExactAmountInOnBalancerV2, da35bb0d swapOnAugustusRFQTryBatchFill",
        ),
        *refused(
            "a buy order: its surplus is taken from the sell token",
            "7f457675 swapExactAmountOut, a76f4eb6 swapExactAmountOutOnUniswapV2,"
            " 5e94e28d swapExactAmountOutOnUniswapV3, d6ed22e6 swapExactAmountOutOnBalancerV2",
        ),
        *refused(
            "its code is a facet, which the owner can replace at any time",
            "0d893d62 swapExactAmountInPro, 44224add swapExactAmountOutPro,"
            " 987e7d8e swapExactAmountInOutOnMakerPSM",
        ),
    ),
    faults=("spender_differs", "partner_takes", "other_token", "permit_inside"),
)
