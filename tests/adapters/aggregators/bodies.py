"""What each vendor answers when all is well, as small as it can be and still be theirs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from quietswap.amounts import less_slippage
from quietswap.chain.address import Address
from quietswap.quoting.quote import RouteRequest
from quietswap.tokens.token import WETH, Token
from tests.domain.router_calldata import ENCODERS, Swap

USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
DAI = Address("0x6B175474E89094C44Da98b954EedeAC495271d0F")
WALLET = Address("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
REQUEST = RouteRequest(
    sell=Token(WETH, 18, "WETH"),
    buy=Token(USDC, 6, "USDC"),
    sell_amount=10**18,
    wallet=WALLET,
    slippage_bps=50,
    gas_price_wei=2_000_000_000,
    deadline=1_800_000_000,
)


@dataclass(frozen=True)
class Terms:
    """What a vendor answers; the defaults are honest. `fields` replaces fields by dotted path."""

    target: Address
    request: RouteRequest = REQUEST
    out: int = 3_000_000_000
    spender: Address | None = None
    recipient: Address = WALLET
    value: str = "0"
    enforced: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def minimum(self) -> int:
        return less_slippage(self.out, self.request.slippage_bps)

    @property
    def allowed(self) -> str:
        return (self.spender or self.target).lower()

    @property
    def sold(self) -> str:
        return self.request.sell.address.lower()

    @property
    def bought(self) -> str:
        return self.request.buy.address.lower()

    @property
    def amount(self) -> str:
        return str(self.request.sell_amount)

    def calldata(self, source: str) -> str:
        minimum = self.minimum if self.enforced is None else self.enforced
        request = self.request
        terms = (request.sell.address, request.buy.address, request.sell_amount, minimum)
        return "0x" + ENCODERS[source](Swap(*terms, recipient=self.recipient)).hex()


def _kyberswap(terms: Terms) -> list[Any]:
    large = terms.request.sell_amount * 9 // 10
    small = [_hop(terms.bought, "curve", terms.request.sell_amount - large)]
    summary = {
        "tokenIn": terms.sold,
        "amountIn": terms.amount,
        "tokenOut": terms.bought,
        "amountOut": str(terms.out + 5),
        "gas": "1",
        "route": [small, [_hop(DAI.lower(), "uniswapv3", large), _hop(terms.bought, "frax", 1)]],
        "checksum": "17691095414726979128",
        "timestamp": 1749652698,
        "odd": 1e-7,
    }
    built = {
        "amountIn": terms.amount,
        "amountOut": str(terms.out),
        "gas": "253000",
        "data": terms.calldata("kyberswap"),
        "routerAddress": terms.target.lower(),
        "transactionValue": terms.value,
    }
    return [
        {"code": 0, "data": {"routeSummary": summary, "routerAddress": terms.allowed}},
        {"code": 0, "data": built},
    ]


def _hop(bought: str, exchange: str, share: int) -> dict[str, Any]:
    return {"pool": "0x", "tokenOut": bought, "exchange": exchange, "swapAmount": str(share)}


def _velora(terms: Terms) -> list[Any]:
    def swap(bought: str, exchange: str) -> dict[str, Any]:
        return {"destToken": bought, "swapExchanges": [{"exchange": exchange, "percent": 100}]}

    price = {
        "srcToken": terms.sold,
        "srcAmount": terms.amount,
        "destToken": terms.bought,
        "destAmount": str(terms.out),
        "gasCost": "253000",
        "version": "6.2",
        "partnerFee": 0,
        "contractAddress": terms.target.lower(),
        "tokenTransferProxy": terms.allowed,
        "bestRoute": [
            {"percent": 10, "swaps": [swap(terms.bought, "Curve")]},
            {"percent": 90, "swaps": [swap(DAI.lower(), "uniswapv3"), swap(terms.bought, "Frax")]},
        ],
    }
    tx = {
        "from": WALLET,
        "to": terms.target.lower(),
        "value": terms.value,
        "data": terms.calldata("velora"),
        "chainId": 1,
    }
    return [{"priceRoute": price, "txParams": tx}]


def _sushi(terms: Terms) -> list[Any]:
    tx = {"from": WALLET, "to": terms.target.lower(), "data": terms.calldata("sushi")}
    if terms.value != "0":
        tx["value"] = terms.value  # absent when a token is sold
    answer = {
        "status": "Success",
        "tokens": [{"address": address} for address in (DAI, terms.bought, terms.sold)],
        "tokenFrom": 2,
        "tokenTo": 1,
        "priceImpact": 0.0012,
        "amountIn": terms.amount,
        "assumedAmountOut": str(terms.out),
        "gasSpent": 253000,
        "tx": tx,
    }
    return [answer]


def _openocean(terms: Terms) -> list[Any]:
    data = {
        "inToken": {"address": terms.sold},
        "outToken": {"address": terms.bought},
        "inAmount": terms.amount,
        "outAmount": str(terms.out),
        "minOutAmount": str(terms.minimum),
        "estimatedGas": 253000,
        "to": terms.target,
        "value": terms.value,
        "data": terms.calldata("openocean"),
        "price_impact": "0%",
        "dexes": [{"dexIndex": 0, "dexCode": "uniswapv3"}],
        "path": {"routes": [{"subRoutes": [{"to": DAI.lower()}, {"to": terms.bought}]}]},
    }
    return [{"code": 200, "data": data}]


def _zeroex(terms: Terms) -> list[Any]:
    answer = {
        "liquidityAvailable": True,
        "allowanceTarget": terms.allowed,
        "sellToken": terms.sold,
        "buyToken": terms.bought,
        "sellAmount": terms.amount,
        "buyAmount": str(terms.out),
        "minBuyAmount": str(terms.minimum),
        "route": {
            "fills": [{"source": "uniswapv3"}],
            "tokens": [{"address": address} for address in (terms.sold, DAI, terms.bought)],
        },
        "transaction": {
            "to": terms.target.lower(),
            "data": terms.calldata("zeroex"),
            "gas": "253000",
            "value": terms.value,
        },
    }
    return [answer]


def _oneinch(terms: Terms) -> list[Any]:
    answer = {
        "srcToken": {"address": terms.sold},
        "dstToken": {"address": terms.bought},
        "dstAmount": str(terms.out),
        "tx": {
            "from": WALLET,
            "to": terms.target.lower(),
            "data": terms.calldata("oneinch"),
            "value": terms.value,
            "gas": 0,
        },
    }
    return [answer]


BODIES: dict[str, Callable[[Terms], list[Any]]] = {
    "kyberswap": _kyberswap,
    "velora": _velora,
    "sushi": _sushi,
    "openocean": _openocean,
    "zeroex": _zeroex,
    "oneinch": _oneinch,
}
"""By source: the JSON of one answer per call."""
