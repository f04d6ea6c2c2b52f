"""Router methods without a proof, with the reason of each refusal."""

from quietswap.domain.address import Address
from quietswap.domain.routers.method_row import (
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
