"""1inch: its router's methods, each with the proof or the reason of its refusal."""

from quietswap.rules.routers.method import CalldataLayout, Confidence, RouterMethod
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import RequestBudget, Vendor, VendorTerms, refused

ROUTER = Address("0x111111125421cA6dc452d289314280a0f8842A65")
_SOURCE = "https://github.com/1inch/1inch-v6-aggregation-router"

VENDOR = Vendor(
    name="oneinch",
    title="1inch",
    place=40,
    url="https://api.1inch.com",
    needs_key=True,
    budget=RequestBudget(1.0),
    terms=VendorTerms(
        "free, from its developer portal",
        "1 request/s and about 100,000 a month, reported",
        "about 10 bps, measured by others on 2026-09-27",
        "docs 2025–26",
    ),
    router=ROUTER,
    router_name="1inch AggregationRouterV6",
    methods=(
        RouterMethod(
            "07ed2379",
            "swap",
            "any flag: partial fill (1), extra ETH (2), Permit2 (4) or unknown ones",
            "`returnAmount < minReturnAmount` reverts; the executor reports returnAmount, and"
            " exactly this amount is then transferred from the router's own balance",
            CalldataLayout(sell=1, buy=2, recipient=4, amount=5, minimum=6, flags=7),
            source=_SOURCE,
            confidence=Confidence.ADAPTED,
        ),
        RouterMethod(
            "83800a8e",
            "unoswap",
            "a pool that is not, by CREATE2, the pair of the two tokens of Uniswap V2, Sushi V2 or"
            " Uniswap V3; a direction that does not sell the sell token; Curve; unwrapping, Permit2"
            " and unknown bits of the pool's word",
            "`ret < minReturn` reverts; the pool reports ret, so the pool must be genuine",
            CalldataLayout(sell=0, amount=1, minimum=2, dex=3),
            source=_SOURCE,
            confidence=Confidence.ADAPTED,
        ),
        *refused(
            "the first and last pool cannot be derived without reading the chain",
            "8770ba91 unoswap2, 19367472 unoswap3, ea76dddf unoswapTo2, f7a70056 unoswapTo3",
        ),
        *refused("`unoswap` does the same for the sender", "e2c95c82 unoswapTo"),
        *refused("it sells ETH", "a76dfc3b ethUnoswap, 89af926a ethUnoswap2, 188ac35d ethUnoswap3"),
        *refused(
            "the named exchange receives the whole amount, and its payment is not checked",
            "d2d374e5 clipperSwap, c4d652af clipperSwapTo",
        ),
        *refused(
            "its threshold may be absent or a rate; the order may be filled in part and calls its"
            " maker",
            "9fda64bd fillOrder, f497df75 fillOrderArgs, cc713a04 fillContractOrder,"
            " 56a75868 fillContractOrderArgs",
        ),
        *refused("it runs any other method after a permit", "5816d723 permitAndCall"),
    ),
    faults=("made_up_pool", "other_token", "partial_fill", "permit_inside"),
)
