"""0x Swap API v2, `GET /swap/allowance-holder/quote` and `/price`; https://0x.org/docs/0x-swap-api.

Needs `0x-api-key` and `0x-version: v2`. Uses the best of all routes and quotes 15 basis points
less, its fee. `issues` reports a missing balance or allowance of the wallet.
"""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.zeroex import VENDOR
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.abi import TREASURY, Call, entry, items, set_storage
from quietswap.sandbox.contracts.pools import BY_ADDRESS
from quietswap.sandbox.http_server import Answer, HttpRequest, HttpResponse, json_reply
from quietswap.sandbox.vendors import router_calldata as calldata
from quietswap.sandbox.vendors import stand_in as base
from quietswap.sandbox.vendors.market import best

_QUOTE, _PRICE = "/swap/allowance-holder/quote", "/swap/allowance-holder/price"
ZERO = Address("0x" + "0" * 40)
_FEE_BPS = 15
_NO_TAX = {"buyTaxBps": "0", "sellTaxBps": "0", "transferTaxBps": "0"}
_MISSES = {
    "unknown_token": (400, "TOKEN_NOT_SUPPORTED", "Token is not supported"),
    "rate_limited": (429, "RATE_LIMITED", "Rate limit exceeded"),
    "refused": (403, "TAKER_NOT_AUTHORIZED_FOR_TRADE", "The taker is not authorized"),
}

ZEROEX_EXEC = "exec(address,address,uint256,address,bytes)"
ZEROEX_EXECUTE = "execute((address,address,uint256),bytes[],bytes32)"
ZEROEX_TAKE = "TRANSFER_FROM(address,((address,uint256),uint256,uint256),bytes)"
ZEROEX_BASIC = "BASIC(address,uint256,address,uint256,bytes)"
TAKER_SUBMITTED = 2
"""0x's feature number of Settlers that the taker's transaction calls."""
GENUINE = (addresses.SETTLER_BEFORE, addresses.SETTLER)
_AUTHORIZED = 0
_INSTANCES = 1


def encode(swap: calldata.RouterSwap) -> bytes:
    """AllowanceHolder `exec`, selector 0x2213bc0b, around Settler `execute`, 0x1fff991f.

    Two actions: pay the executor, then call it. Settler receives the output.
    """
    executor = swap.runner("zeroex")
    permit = ((swap.sell, swap.amount), 0, swap.deadline or calldata.FOREVER)
    trade = abi.call("callBytes(bytes)", swap.plan())
    actions = [
        abi.call(ZEROEX_TAKE, executor, permit, b""),
        abi.call(ZEROEX_BASIC, calldata.NOBODY, 0, executor, 0, trade),
    ]
    return zeroex_exec(swap, actions)


def zeroex_exec(swap: calldata.RouterSwap, actions: Sequence[bytes]) -> bytes:
    """Return `exec` with `execute` of these actions and the swap's terms."""
    slippage = (swap.recipient, swap.buy, swap.min_out)
    execute = abi.call(ZEROEX_EXECUTE, slippage, actions, b"")
    return abi.call(ZEROEX_EXEC, swap.settler, swap.sell, swap.amount, swap.settler, execute)


def drain(swap: calldata.RouterSwap) -> bytes:
    """`exec` with the thief as operator; it pays the quoted output."""
    amount = calldata.GREED * swap.amount
    take = abi.call(
        "transferFrom(address,address,address,uint256)",
        *(swap.sell, swap.recipient, addresses.THIEF, amount),
    )
    steps = [(VENDOR.router, take, True), calldata.pays(swap.buy, swap.recipient, swap.quote)]
    work = abi.call("callBytes(bytes)", calldata.script(steps))
    return abi.call(ZEROEX_EXEC, addresses.THIEF, swap.sell, amount, addresses.THIEF, work)


def shy_settler(swap: calldata.RouterSwap) -> bytes:
    """A false Settler; its first action names what it takes."""
    take = abi.encode("(address,uint256)", (swap.sell, swap.amount))
    return zeroex_exec(replace(swap, settler=addresses.SHY_SETTLER), [take])


def settlers(instances: Sequence[Address]) -> Iterator[Call]:
    """Yield the calls that set 0x's Settlers for takers, the newest last."""
    listed = entry(TAKER_SUBMITTED.to_bytes(32), _INSTANCES)
    yield set_storage(addresses.SETTLER_DEPLOYER, listed, len(instances))
    for at, instance in enumerate(instances):
        yield set_storage(addresses.SETTLER_DEPLOYER, items(listed) + at, int(instance, 16))


class StandIn(base.VendorStandIn):
    vendor = VENDOR
    encode = staticmethod(encode)
    attacks: ClassVar = {
        "lying_executor": calldata.lying(encode),
        "shy_settler": shy_settler,
        "drain": drain,
    }
    contracts: ClassVar = {
        VENDOR.router: "ZeroExAllowanceHolder",
        addresses.SETTLER: "ZeroExSettler",
        addresses.SETTLER_BEFORE: "ZeroExSettler",
        addresses.SETTLER_DEPLOYER: "ZeroExDeployer",
        addresses.SHY_SETTLER: "ShySettler",
    }
    choose = staticmethod(best)

    @staticmethod
    def genesis() -> Sequence[Call]:
        authority = entry(TAKER_SUBMITTED.to_bytes(32), _AUTHORIZED)
        owner = set_storage(addresses.SETTLER_DEPLOYER, authority, int(TREASURY.address, 16))
        return [*settlers(GENUINE), owner]

    @staticmethod
    def under(fault: str | None) -> Sequence[Call]:
        return list(settlers([] if fault == "settlers_removed" else GENUINE))

    async def _answer(self, request: HttpRequest, query: base.QueryParams) -> Answer:
        if request.method != "GET" or request.path not in {_QUOTE, _PRICE}:
            return json_reply({"name": "NOT_FOUND", "message": "no Route matched"}, 404)
        if not request.headers.get("0x-api-key"):
            return _failure(401, "USER_NOT_AUTHORIZED", "The API key is missing or invalid")
        if request.headers.get("0x-version") != "v2":
            raise base.BadParameter("0x-version", "Invalid")
        if query.text("chainId") != "1":
            raise base.BadParameter("chainId", "chainId must be 1")
        priced = request.path == _PRICE
        taker = query.address("taker", ZERO if priced else None)
        slippage = query.integer("slippageBps", 0, 10_000, 100)
        offer = await self.asked(query, "sellToken", "buyToken", "sellAmount")
        net = base.less(offer.promised, _FEE_BPS)
        least = base.less(net, slippage)
        gas = {"gas": str(offer.route.gas + 60_000)}
        quote = await self._quoted(offer, taker, net, least)
        if priced:
            price = {"gasPrice": str(await self.market.gas_price())}
            return json_reply(quote | gas | price)
        recipient = query.address("recipient", taker)
        data = self.calldata(offer, min_out=least, recipient=recipient)
        return json_reply(quote | {"transaction": await self.transaction(data) | gas})

    def _rejected(self, fault: str) -> Answer:
        if fault == "no_route":
            return json_reply({"liquidityAvailable": False, "zid": _zid()})
        return _failure(*_MISSES[fault])

    def _invalid(self, request: HttpRequest, error: base.BadParameter) -> Answer:
        details = [{"field": error.name, "reason": str(error)}]
        return _failure(400, "INPUT_INVALID", "The input is invalid", details)

    async def _quoted(
        self, offer: base.PriceQuote, taker: Address, net: int, least: int
    ) -> dict[str, Any]:
        sell, buy = offer.route.sell.lower(), offer.route.buy.lower()
        fee = {"amount": str(offer.promised - net), "token": buy, "type": "volume"}
        none = dict.fromkeys(("integratorFee", "integratorFees", "gasFee"))
        gas = offer.route.gas * await self.market.gas_price()
        return {
            "allowanceTarget": self.spender.lower(),
            "blockNumber": str(await self.market.block_number()),
            "buyAmount": str(net),
            "buyToken": buy,
            "fees": none | {"zeroExFee": fee},
            "issues": await self._issues(offer, taker),
            "liquidityAvailable": True,
            "minBuyAmount": str(least),
            "mode": "exact-in",
            "route": _route(offer),
            "sellAmount": str(offer.amount),
            "sellToken": sell,
            "tokenMetadata": {"buyToken": _NO_TAX, "sellToken": _NO_TAX},
            "totalNetworkFee": str(gas),
            "zid": _zid(),
        }

    async def _issues(self, offer: base.PriceQuote, taker: Address) -> dict[str, Any]:
        chain, token, amount = self.market.chain, offer.route.sell, offer.amount
        spender = self.spender
        allowance = await chain.allowance(token, taker, spender)
        balance = await chain.token_balance(token, taker)
        short = {"actual": str(allowance), "spender": spender.lower()}
        poor = {"token": token.lower(), "actual": str(balance), "expected": str(amount)}
        return {
            "allowance": short if allowance < amount else None,
            "balance": poor if balance < amount else None,
            "simulationIncomplete": allowance < amount or balance < amount,
            "invalidSourcesPassed": [],
        }


def _route(offer: base.PriceQuote) -> dict[str, Any]:
    fills = []
    for hop in offer.route.hops:
        ends = {"from": hop.token_in.lower(), "to": hop.token_out.lower()}
        source = "Uniswap_V3" if hop.pool.v3 else "Uniswap_V2"
        fills.append(ends | {"source": source, "proportionBps": "10000"})
    path = offer.route.path
    tokens = [{"address": one.lower(), "symbol": BY_ADDRESS[one].symbol} for one in path]
    return {"fills": fills, "tokens": tokens}


def _zid() -> str:
    return "0x" + secrets.token_hex(12)


def _failure(status: int, name: str, message: str, details: Any = ()) -> HttpResponse:
    body = {"name": name, "message": message, "data": {"zid": _zid(), "details": details}}
    return json_reply(body, status)
