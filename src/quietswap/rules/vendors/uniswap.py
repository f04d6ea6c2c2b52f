"""Uniswap: its router's methods, each with the proof or the reason of its refusal."""

from quietswap.rules.routers import swap_router02
from quietswap.rules.routers.method import CalldataLayout, Confidence, RouterMethod
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import RequestBudget, Vendor, VendorTerms, refused

ROUTER = Address("0x68b3465833fb72A70ecDF485E0e4C7bD8665Fc45")

VENDOR = Vendor(
    name="uniswap",
    title="Uniswap",
    place=60,
    url=None,
    budget=RequestBudget(100.0),  # the node's own limits hold
    terms=VendorTerms(
        "none", "your node: a batch of `eth_call` for each quote", "the pools' fees", "-"
    ),
    router=ROUTER,
    router_name="Uniswap SwapRouter02",
    methods=(
        RouterMethod(
            "5ae401dc",
            "multicall",
            "any call within but exactInputSingle, exactInput, swapExactTokensForTokens and, after"
            " them, sweepToken; legs that pay another than the router, or sell or buy another"
            " token; one leg over several pools of Uniswap V2 that pays the wallet; a leg's amount"
            " 0, which means the router's own balance; fees of no V3 pools; any other encoding of"
            " the same terms",
            "`amountOut >= amountOutMinimum` of one leg, paid by its last pool, which the router"
            " derives; `balanceToken >= amountMinimum` of sweepToken on the router's whole balance,"
            " paid by the router; each leg pulls its amountIn of its first token, from the sender"
            " only; `_blockTimestamp() <= deadline`",
            CalldataLayout(sell=0, buy=1, recipient=3, amount=4, minimum=5, deadline=0),
            source="https://github.com/Uniswap/swap-router-contracts",
            confidence=Confidence.VENDOR,
            nested=swap_router02.NESTED,
        ),
        *refused(
            "it has no deadline: `multicall` with one does the same",
            "ac9650d8 multicall, 1f0464d1 multicall, 04e45aaf exactInputSingle, b858183f"
            " exactInput, 472b43f3 swapExactTokensForTokens",
        ),
        *refused(
            "a buy order: it sells up to a maximum",
            "5023b4df exactOutputSingle, 09b81346 exactOutput, 42712a67 swapTokensForExactTokens",
        ),
    ),
)
