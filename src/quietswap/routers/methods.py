"""Router methods that are proven to enforce the terms, with the check that enforces them."""

from dataclasses import replace
from typing import Any

from quietswap.chain.address import Address
from quietswap.routers.method import (
    ALL_FLAGS,
    KYBERSWAP,
    ONEINCH,
    OPENOCEAN,
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


# Router methods without a proof, with the reason of each refusal.


_BUY_ORDER = "a buy order: its surplus is taken from the sell token"
_FACET = "its code is a facet, which the owner can replace at any time"
_MIDDLE = "the first and last pool cannot be derived without reading the chain"
_SENDS_ETH = "it sells ETH"
_RFQ = "its threshold may be absent or a rate; the order may be filled in part and calls its maker"

UNPROVEN = (
    RouterMethod(
        OPENOCEAN,
        "90411a32",
        "swap",
        "the router is an upgradeable proxy whose implementation is not the public source; it is"
        " offered only where the operator sets `source.openocean.accept_unbound`",
        "no proof exists",
        CalldataLayout(
            within=(1,),
            sell=0,
            buy=1,
            recipient=3,
            amount=4,
            minimum=5,
            flags=7,
            allowed_flags=ALL_FLAGS ^ 1,
            permit=9,
            permit_within=True,
        ),
        Measure.RECIPIENT,
        "https://github.com/openocean-finance/OpenOceanExchangeV2",
        Confidence.NOT_RUNNING,
        bound=False,
    ),
)


def _refused(router: Address, reason: str, **methods: str) -> tuple[RouterMethod, ...]:
    return tuple(RouterMethod(router, key[1:], name, reason) for key, name in methods.items())


REFUSED = (
    *_refused(
        KYBERSWAP,
        "it calls any target of a list that its owner keeps, with any data",
        _59e50fed="swapGeneric",
    ),
    *_refused(
        KYBERSWAP,
        "each draw is measured at the wallet: a payout to it meanwhile lets the router draw more",
        _8af033fb="swapSimpleMode",
    ),
    *_refused(
        VELORA,
        "its tokens and its beneficiary are in a nested call and a packed word",
        _d85ca173="swapExactAmountInOnBalancerV2",
        _da35bb0d="swapOnAugustusRFQTryBatchFill",
    ),
    *_refused(
        VELORA,
        _BUY_ORDER,
        _7f457675="swapExactAmountOut",
        _a76f4eb6="swapExactAmountOutOnUniswapV2",
        _5e94e28d="swapExactAmountOutOnUniswapV3",
        _d6ed22e6="swapExactAmountOutOnBalancerV2",
    ),
    *_refused(
        VELORA,
        _FACET,
        _0d893d62="swapExactAmountInPro",
        _44224add="swapExactAmountOutPro",
        _987e7d8e="swapExactAmountInOutOnMakerPSM",
    ),
    *_refused(SUSHI, "it pulls any list of tokens", _d33721a5="snwapMultiple"),
    *_refused(
        OPENOCEAN,
        "any address can be the pair, and the amount it reports is compared with the minimum",
        _8980041a="callUniswap",
        _6b58f2f0="callUniswapTo",
        _e449022e="uniswapV3Swap",
        _bc80f1a8="uniswapV3SwapTo",
    ),
    *_refused(
        ZEROEX,
        "Settler is called through AllowanceHolder only, without a signature of the wallet",
        _1fff991f="execute",
        _06b8524c="executeWithPermit",
        _fd3ad6d4="executeMetaTxn",
    ),
    *_refused(
        ONEINCH,
        _MIDDLE,
        _8770ba91="unoswap2",
        _19367472="unoswap3",
        _ea76dddf="unoswapTo2",
        _f7a70056="unoswapTo3",
    ),
    *_refused(ONEINCH, "`unoswap` does the same for the sender", _e2c95c82="unoswapTo"),
    *_refused(
        ONEINCH,
        _SENDS_ETH,
        _a76dfc3b="ethUnoswap",
        _89af926a="ethUnoswap2",
        _188ac35d="ethUnoswap3",
    ),
    *_refused(
        ONEINCH,
        "the named exchange receives the whole amount, and its payment is not checked",
        _d2d374e5="clipperSwap",
        _c4d652af="clipperSwapTo",
    ),
    *_refused(
        ONEINCH,
        _RFQ,
        _9fda64bd="fillOrder",
        _f497df75="fillOrderArgs",
        _cc713a04="fillContractOrder",
        _56a75868="fillContractOrderArgs",
    ),
    *_refused(ONEINCH, "it runs any other method after a permit", _5816d723="permitAndCall"),
)


# The router methods whose terms the router's own code enforces: one row per (router, selector).
#
# A row is a short proof. `enforced_by` names the check in the router's code. `refuses` names what
# is refused because the check would not hold, or because another approved token could be taken.
# `source` is where the code was read, `confidence` how certain it is that this code runs on
# mainnet. A method without a row is refused; a row without a layout gives the reason.
# docs/security.md is generated from this table.


METHODS: dict[tuple[Address, str], RouterMethod] = {
    (row.router, row.selector): row for row in (*BOUND, *UNPROVEN, *REFUSED)
}
"""The table, by router and selector (8 hex digits)."""


def is_unproven(router: Address, data: bytes) -> bool:
    """Return whether the terms of this call are readable but not proven."""
    method = METHODS.get((router, data[:4].hex()))
    return method is not None and method.layout is not None and not method.bound


def measure(router: Address, data: bytes) -> Measure | None:
    """Return the balance the router compares with the minimum in this call; None if unknown."""
    method = METHODS.get((router, data[:4].hex()))
    return None if method is None else method.measure
