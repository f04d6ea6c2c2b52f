"""0x: its router's methods, each with the proof or the reason of its refusal."""

from quietswap.rules.routers.method import CalldataLayout, Confidence, RouterMethod
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import RequestBudget, Vendor, VendorTerms, refused

ROUTER = Address("0x0000000000001fF3684f28c67538d4D072C22734")
"""AllowanceHolder is call target and spender. The Settler behind it is never one."""

VENDOR = Vendor(
    name="zeroex",
    title="0x",
    place=30,
    url="https://api.0x.org",
    needs_key=True,
    budget=RequestBudget(5.0),
    terms=VendorTerms(
        "free, from dashboard.0x.org",
        "about 5 requests/s, reported",
        "15 bps on many pairs of the free plan",
        "docs 2026-08",
    ),
    router=ROUTER,
    router_name="0x AllowanceHolder",
    methods=(
        RouterMethod(
            "2213bc0b",
            "exec around Settler.execute",
            "an operator other than the target; a target that 0x's Deployer does not name as"
            " current or previous taker-submitted Settler; any other nested call; the zero address"
            " as recipient",
            "_checkSlippageAndTransfer of Settler on its whole balance of the buy token;"
            " AllowanceHolder allows only the operator to take at most `amount` of `token` in this"
            " call",
            CalldataLayout(sell=1, amount=2, buy=1, recipient=0, minimum=2, zero_is_sender=False),
            source="https://github.com/0xProject/0x-settler",
            confidence=Confidence.VENDOR,
            nested="1fff991f",
        ),
        *refused(
            "Settler is called through AllowanceHolder only, without a signature of the wallet",
            "1fff991f execute, 06b8524c executeWithPermit, fd3ad6d4 executeMetaTxn",
        ),
    ),
    faults=("spender_differs", "shy_settler", "settlers_removed"),
)
