"""Sushi: its router's methods, each with the proof or the reason of its refusal."""

from quietswap.rules.routers.method import CalldataLayout, Measure, RouterMethod
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import RequestBudget, Vendor, VendorTerms, refused

ROUTER = Address("0xAC4c6e212A361c968F1725b4d055b47E63F80b75")

VENDOR = Vendor(
    name="sushi",
    title="Sushi",
    place=50,
    url="https://api.sushi.com",
    budget=RequestBudget(10.0),
    terms=VendorTerms("none", "none stated", "nothing seen", "spec 2026-02"),
    router=ROUTER,
    router_name="Sushi RedSnwapper",
    methods=(
        RouterMethod(
            "5f3bd1c8",
            "snwap",
            "amount 0, which means the router's own balance; the zero address as recipient",
            "`amountOut < amountOutMin` reverts, on the recipient's balance before and after; the"
            " executor is called by SafeExecutor, a contract without allowances",
            CalldataLayout(sell=0, amount=1, recipient=2, buy=3, minimum=4, zero_is_sender=False),
            Measure.RECIPIENT,
            "https://etherscan.io/address/0xAC4c6e212A361c968F1725b4d055b47E63F80b75#code",
        ),
        *refused("it pulls any list of tokens", "d33721a5 snwapMultiple"),
    ),
)
