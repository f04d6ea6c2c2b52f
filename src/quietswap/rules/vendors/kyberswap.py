"""KyberSwap: its router's methods, each with the proof or the reason of its refusal."""

from quietswap.rules.routers.method import CalldataLayout, Measure, RouterMethod
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import RequestBudget, Vendor, VendorTerms, refused

ROUTER = Address("0x6131B5fae19EA4f9D964eAc0408E4408b66337b5")
_KYBER_FLAGS = 0x40 | 0x80 | 0x200
"""Fee on the bought token, fee in bps, and 0x200, which is set in all recorded answers of 2026 and
which no copy of the source tests."""

VENDOR = Vendor(
    name="kyberswap",
    title="KyberSwap",
    place=10,
    url="https://aggregator-api.kyberswap.com",
    budget=RequestBudget(1.5),
    terms=VendorTerms("none", "3 requests/s; a quote takes two", "nothing found", "docs 2026-08"),
    router=ROUTER,
    router_name="KyberSwap MetaAggregationRouterV2",
    methods=(
        RouterMethod(
            "e21fd0e9",
            "swap",
            "flags for a partial fill (0x01), extra ETH (0x02), claiming (0x04), burning (0x08,"
            " 0x10), simple mode (0x20), approving (0x100) or unknown ones; a fee on the token"
            " sold; a permit",
            "`returnAmount >= minReturnAmount` in _checkReturnAmount, on the recipient's balance"
            " before and after; `total <= desc.amount` in _transferFromOrApproveTarget, of all that"
            " is pulled",
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
        *refused(
            "it calls any target of a list that its owner keeps, with any data",
            "59e50fed swapGeneric",
        ),
        *refused(
            "each draw is measured at the wallet: a payout to it meanwhile lets the router draw"
            " more",
            "8af033fb swapSimpleMode",
        ),
    ),
    faults=("partial_fill", "permit_inside"),
    # PropAMMSourceSet of pkg/valueobject/exchange.go in kyberswap-dex-lib@ae6a99aa, 2026-08-21:
    # `excludeRFQSources` does not exclude them
    proprietary_amms=(
        "fermi",
        "fermi-prop",
        "kipseli-prop",
        "kipseli-pamm",
        "metric-propamm",
        "bop-amm",
        "titan-prop",
    ),
)
