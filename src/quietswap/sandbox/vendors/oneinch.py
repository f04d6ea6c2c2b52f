"""1inch Swap API v6.1, `GET /swap/v6.1/1/swap` and `/quote`.

https://portal.1inch.dev/documentation/apis/swap/classic-swap. Needs `Authorization: Bearer KEY`.
Uses the best of all routes and keeps 10 basis points. Without `disableEstimate=true` it requires
balance and allowance.
"""

import uuid
from http.client import responses
from typing import Any, ClassVar

from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.oneinch import VENDOR
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import V3_WETH_USDC, SandboxToken
from quietswap.sandbox.http_server import Answer, HttpRequest, HttpResponse, json_reply
from quietswap.sandbox.vendors import router_calldata as calldata
from quietswap.sandbox.vendors import stand_in as base
from quietswap.sandbox.vendors.market import best

_SWAP, _QUOTE = "/swap/v6.1/1/swap", "/swap/v6.1/1/quote"
_FEE_BPS = 10
_MISSES = {
    "no_route": (400, "insufficient liquidity"),
    "unknown_token": (400, "cannot sync token"),
    "rate_limited": (429, "The limit of requests per second has been exceeded"),
    "refused": (403, "access denied"),
}

ONEINCH_SWAP = "swap(address,(address,address,address,address,uint256,uint256,uint256),bytes)"
_PERMIT2 = 4
_V3 = 1 << 253


def made_up_pool(swap: calldata.RouterSwap) -> bytes:
    """`unoswap` on a fake pool."""
    return unoswap(swap, calldata.made_up_pool_word())


def encode(swap: calldata.RouterSwap) -> bytes:
    """AggregationRouterV6 `swap`, selector 0x07ed2379."""
    executor = swap.runner("oneinch")
    tokens = swap.sell, swap.buy, executor, swap.recipient
    desc = (*tokens, swap.amount, swap.min_out, swap.flags)
    return abi.call(ONEINCH_SWAP, executor, desc, swap.plan())


def drain(swap: calldata.RouterSwap) -> bytes:
    """`clipperSwap`, which sends any amount to any exchange; this one pays the quoted output."""
    return abi.call(
        "clipperSwap(address,uint256,address,uint256,uint256,uint256,bytes32,bytes32)",
        *(addresses.THIEF, int(swap.sell, 16), swap.buy, calldata.GREED * swap.amount),
        *(swap.quote, calldata.FOREVER, b"", b""),
    )


def unoswap(swap: calldata.RouterSwap, dex: int) -> bytes:
    """1inch's `unoswap` on the pool of this word."""
    return abi.call(
        "unoswap(uint256,uint256,uint256,uint256)",
        *(int(swap.sell, 16), swap.amount, swap.min_out, dex),
    )


def other_token(swap: calldata.RouterSwap) -> bytes:
    """`unoswap` on a genuine V3 pool that takes another token than its argument names."""
    _, forward = calldata.other_than(swap.sell)
    flags = _V3 | (calldata.FORWARD if forward else 0)
    return unoswap(swap, int(V3_WETH_USDC.address, 16) | flags)


def partial_fill(swap: calldata.RouterSwap) -> bytes:
    """An executor that leaves nine tenths in the router, which returns them."""
    return calldata.part(swap, encode, VENDOR.router)


class StandIn(base.VendorStandIn):
    vendor = VENDOR
    encode = staticmethod(encode)
    attacks: ClassVar = {
        "made_up_pool": made_up_pool,
        "lying_executor": calldata.lying(encode),
        "drain": drain,
        "other_token": other_token,
        "partial_fill": partial_fill,
        "permit_inside": calldata.changed(encode, flags=_PERMIT2),
    }
    contracts: ClassVar = {VENDOR.router: "OneInchRouter"}
    choose = staticmethod(best)

    async def _answer(self, request: HttpRequest, query: base.QueryParams) -> Answer:
        if request.method != "GET" or request.path not in {_SWAP, _QUOTE}:
            return json_reply({"statusCode": 404, "error": "Not Found"}, 404)
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            return _failure(401, "invalid api key")
        offer = await self.asked(query, "src", "dst", "amount")
        if request.path == _QUOTE:
            return json_reply(_quoted(offer, query))
        return await self._swap(offer, query)

    def _rejected(self, fault: str) -> Answer:
        return _failure(*_MISSES[fault])

    def _invalid(self, request: HttpRequest, error: base.BadParameter) -> Answer:
        return _failure(400, str(error))

    async def _swap(self, offer: base.PriceQuote, query: base.QueryParams) -> HttpResponse:
        wallet = query.address("from")
        query.address("origin")
        slippage = query.decimal("slippage", "0", "50")
        estimates = not query.flag("disableEstimate")
        if estimates and (refusal := await self._refusal(offer, wallet)):
            return refusal
        least = base.less(base.less(offer.promised, _FEE_BPS), slippage * 100)
        recipient = query.address("receiver", wallet)
        data = self.calldata(offer, min_out=least, recipient=recipient)
        own = {"from": wallet.lower(), "gas": offer.route.gas if estimates else 0}
        return json_reply(_quoted(offer, query) | {"tx": await self.transaction(data) | own})

    async def _refusal(self, offer: base.PriceQuote, wallet: Address) -> HttpResponse | None:
        chain, token, amount = self.market.chain, offer.route.sell, offer.amount
        if (balance := await chain.token_balance(token, wallet)) < amount:
            return _failure(400, f"Not enough balance. Amount: {amount}. Balance: {balance}")
        allowance = await chain.allowance(token, wallet, self.router)
        if allowance < amount:
            text = f"Not enough allowance. Amount: {amount}. Allowance: {allowance}."
            return _failure(400, f"{text} Spender: {self.router.lower()}")
        return None


def _quoted(offer: base.PriceQuote, query: base.QueryParams) -> dict[str, Any]:
    answer: dict[str, Any] = {"dstAmount": str(base.less(offer.promised, _FEE_BPS))}
    if query.flag("includeTokensInfo"):
        answer |= {"srcToken": _token(offer.sell), "dstToken": _token(offer.buy)}
    if query.flag("includeProtocols"):
        answer |= {"protocols": _protocols(offer)}
    if query.flag("includeGas"):
        answer |= {"gas": offer.route.gas}
    return answer


def _token(token: SandboxToken) -> dict[str, Any]:
    own = {"address": token.address.lower(), "eip2612": False, "isFoT": False, "tags": ["tokens"]}
    return base.described(token) | own


def _protocols(offer: base.PriceQuote) -> list[dict[str, Any]]:
    protocols = []
    for at, hop in enumerate(offer.route.hops):
        names = [{"name": "UNISWAP_V3" if hop.pool.v3 else "UNISWAP_V2", "part": 100}]
        ends = {"dst": hop.token_out.lower(), "fromTokenId": at, "toTokenId": at + 1}
        step = {"part": 100} | ends | {"protocols": names}
        protocols.append({"token": hop.token_in.lower(), "hops": [step]})
    return protocols


def _failure(status: int, description: str) -> HttpResponse:
    body = {"error": responses[status], "description": description, "statusCode": status}
    return json_reply(body | {"requestId": str(uuid.uuid4()), "meta": []}, status)
