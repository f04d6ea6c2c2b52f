"""OpenOcean: its router's methods, each with the proof or the reason of its refusal."""

from quietswap.rules.routers.method import (
    ALL_FLAGS,
    CalldataLayout,
    Confidence,
    Measure,
    RouterMethod,
)
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import RequestBudget, Vendor, VendorTerms, refused

ROUTER = Address("0x6352a56caadC4F1E25CD6c75970Fa768A3304e64")

VENDOR = Vendor(
    name="openocean",
    title="OpenOcean",
    place=70,
    url="https://open-api.openocean.finance",
    budget=RequestBudget(2.0),
    terms=VendorTerms(
        "none, or one for its `pro` host", "2 requests/s", "nothing seen", "docs 2026-03"
    ),
    router=ROUTER,
    router_name="OpenOcean ExchangeV2",
    methods=(
        RouterMethod(
            "90411a32",
            "swap",
            "the router is an upgradeable proxy whose implementation is not the public source; it"
            " is offered only where the operator sets `source.openocean.accept_unbound`",
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
        *refused(
            "any address can be the pair, and the amount it reports is compared with the minimum",
            "8980041a callUniswap, 6b58f2f0 callUniswapTo, e449022e uniswapV3Swap,"
            " bc80f1a8 uniswapV3SwapTo",
        ),
    ),
    faults=("made_up_pool", "other_token", "partial_fill", "permit_inside", "new_implementation"),
)
