"""What the vendors' stand-ins share: reading a request, pricing, calldata and faults.

Each vendor's wire format and route choice are in `NAME.py` beside this file.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, TypeVar

from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors import OVER_HTTP
from quietswap.rules.vendors.vendor import Vendor
from quietswap.sandbox.contracts.abi import Call
from quietswap.sandbox.contracts.pools import BY_ADDRESS, SandboxToken
from quietswap.sandbox.faults import ActiveFaults
from quietswap.sandbox.http_server import Answer, HttpRequest
from quietswap.sandbox.vendors.market import (
    Hop,
    Market,
    PoolRoute,
    PricedRoute,
    amount_out,
    priced_routes,
)
from quietswap.sandbox.vendors.router_calldata import Attack, RouterSwap

STRANGER = addresses.from_any_case("0xbad0000000000000000000000000000000000bad")
"""The recipient, router or spender that a fault names; its key is unknown."""
_FINE = 10_000
"""Slippage is rounded to 1/10 000 of a basis point: vendors take it in percent and fractions."""
_MAX_HOPS = 3
_REJECTS = frozenset({"no_route", "unknown_token", "rate_limited", "refused"})
"""The faults that keep a venue from quoting. Each vendor reports them in its own format."""
_GOVERNED = frozenset({"drain", "settlers_removed"})
"""The faults that need the vendor's administrator keys on mainnet."""
_T = TypeVar("_T")
_N = TypeVar("_N", int, Decimal)


class QuoteRejected(Exception):
    """The venue has no quote; `str()` is the name of the fault with this answer."""


class BadParameter(Exception):
    """The request is invalid: `name` is the parameter, `str()` is the reason."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name


@dataclass(frozen=True, slots=True)
class PriceQuote:
    """A quote: `delivered` is the output at the latest block, `promised` what the venue says."""

    route: PoolRoute
    amount: int
    delivered: int
    promised: int

    @property
    def sell(self) -> SandboxToken:
        return BY_ADDRESS[self.route.sell]

    @property
    def buy(self) -> SandboxToken:
        return BY_ADDRESS[self.route.buy]


class VendorStandIn(ABC):
    """The stand-in for one aggregator, with its active fault: `handle` serves its HTTP API."""

    vendor: ClassVar[Vendor]
    attacks: ClassVar[Mapping[str, Attack]]
    """By fault."""
    contracts: ClassVar[Mapping[Address, str]]
    """Names in contracts/artifacts.json, by address."""

    def __init__(self, market: Market, active_faults: ActiveFaults) -> None:
        self.market = market
        self._active_faults = active_faults
        self._shown: str | None = None
        self._lock = asyncio.Lock()

    @staticmethod
    @abstractmethod
    def encode(swap: RouterSwap) -> bytes:
        """Return the router's calldata of a swap, in the vendor's layout."""

    @staticmethod
    def genesis() -> Sequence[Call]:
        """Return the calls that write the state of the honest vendor's contracts."""
        return ()

    @staticmethod
    def under(fault: str | None) -> Sequence[Call]:
        """Return the calls that write the state of the vendor's contracts under this fault."""
        return ()

    @staticmethod
    @abstractmethod
    def choose(routes: Sequence[PricedRoute]) -> PricedRoute | None:
        """Choose among routes, which are sorted by output."""

    @abstractmethod
    async def _answer(self, request: HttpRequest, query: "QueryParams") -> Answer:
        """Answer one request. Raises QuoteRejected and BadParameter."""

    @abstractmethod
    def _rejected(self, fault: str) -> Answer:
        """Return the vendor's answer when there is no quote, by the name of the fault."""

    @abstractmethod
    def _invalid(self, request: HttpRequest, error: BadParameter) -> Answer:
        """Return the vendor's answer to an invalid request."""

    async def handle(self, request: HttpRequest) -> Answer:
        try:
            return await self._answer(request, QueryParams(request.query))
        except QuoteRejected as error:
            return self._rejected(str(error))
        except BadParameter as error:
            return self._invalid(request, error)

    async def settle(self) -> None:
        """Change the vendor's contracts as its fault needs, and back when the fault ends.

        On mainnet the vendor changes which code and targets they trust by a transaction. Here it is
        a word of storage.
        """
        async with self._lock:
            kind = self._active_faults.kind(self.vendor.name)
            needed = kind if kind in _GOVERNED else None
            if needed != self._shown:
                await self.market.chain.rpc.batch(self.under(needed))
                self._shown = needed

    @property
    def router(self) -> Address:
        """The contract to call and approve, as this venue names it now."""
        return STRANGER if self._shows("foreign_router") else self.vendor.router

    @property
    def spender(self) -> Address:
        """The contract to approve, where the vendor names one in addition to the router."""
        return STRANGER if self._shows("spender_differs") else self.router

    @property
    def value(self) -> int:
        return 10**18 if self._shows("value_not_zero") else 0

    async def transaction(self, data: str) -> dict[str, str]:
        price = str(await self.market.gas_price())
        to = self.router.lower()
        return {"to": to, "data": data, "value": str(self.value), "gasPrice": price}

    def check_open(self) -> None:
        """Raise QuoteRejected when a fault keeps the venue from quoting."""
        kind = self._active_faults.kind(self.vendor.name)
        if kind in _REJECTS:
            raise QuoteRejected(kind)

    async def offer(self, sell: Address, buy: Address, amount: int) -> PriceQuote:
        """Return a quote over the route that this venue chooses. Raises QuoteRejected."""
        if sell not in BY_ADDRESS or buy not in BY_ADDRESS:
            raise QuoteRejected("unknown_token")
        self.check_open()
        await self.settle()
        routes = await priced_routes(self.market.chain, sell, buy, amount, _MAX_HOPS)
        priced = self.choose(routes)
        if priced is None:
            raise QuoteRejected("no_route")
        out = priced.amount_out
        return PriceQuote(priced.route, amount, out, self.promise(out))

    async def asked(self, query: "QueryParams", sell: str, buy: str, amount: str) -> PriceQuote:
        """Return the quote for a query, by its parameter names.

        Raises QuoteRejected and BadParameter.
        """
        tokens = query.address(sell), query.address(buy)
        return await self.offer(*tokens, query.amount(amount))

    async def steps(self, offer: PriceQuote) -> list[tuple[Hop, int, int]]:
        """Return the hops of a quote with their real input and output amounts."""
        steps, amount = [], offer.amount
        for hop in offer.route.hops:
            out = await amount_out(self.market.chain, PoolRoute((hop,)), amount)
            steps.append((hop, amount, out))
            amount = out
        return steps

    def promise(self, amount: int) -> int:
        fault = self._active_faults.of(self.vendor.name)
        if fault is None or fault.kind != "lie":
            return amount
        return int(amount * Fraction(fault.share))

    def calldata(
        self,
        offer: PriceQuote,
        *,
        min_out: int,
        recipient: Address,
        deadline: int = 0,
        fee_bps: int = 0,
    ) -> str:
        swap = RouterSwap(
            offer.route,
            offer.amount,
            min_out // 2 if self._shows("short_minimum") else min_out,
            STRANGER if self._shows("foreign_recipient") else recipient,
            quoted_out=offer.promised,
            deadline=deadline,
            fee_bps=fee_bps,
        )
        kind = self._active_faults.kind(self.vendor.name)
        return "0x" + self.attacks.get(kind, self.encode)(swap).hex()

    def _shows(self, kind: str) -> bool:
        return self._active_faults.shows(self.vendor.name, kind)


@cache
def stand_ins() -> Mapping[str, type[VendorStandIn]]:
    modules = {name: import_module(f"quietswap.sandbox.vendors.{name}") for name in OVER_HTTP}
    return {name: module.StandIn for name, module in modules.items()}


def less(amount: int, bps: Decimal | int) -> int:
    """Return `amount` less `bps` basis points, rounded down, in integers."""
    return amount * (10_000 * _FINE - int(bps * _FINE)) // (10_000 * _FINE)


def described(token: SandboxToken) -> dict[str, Any]:
    """Return the token fields that most vendors name alike."""
    symbol = token.symbol
    return {"address": token.address, "symbol": symbol, "name": symbol, "decimals": token.decimals}


class QueryParams:
    """The parameters of a request. A missing or invalid one raises BadParameter."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def text(self, name: str, default: str | None = None) -> str:
        parameter = self._values.get(name) or default
        if parameter is None:
            raise BadParameter(name, f"{name} is required")
        return parameter

    def flag(self, name: str) -> bool:
        return self._values.get(name) == "true"

    def address(self, name: str, default: Address | None = None) -> Address:
        return self._read(name, addresses.from_any_case, default, "must be an address")

    def amount(self, name: str) -> int:
        return self._read(name, _positive, None, "must be a positive integer")

    def decimal(self, name: str, low: str, high: str, default: str | None = None) -> Decimal:
        number = self._read(name, _plain, Decimal(default) if default else None, "must be a number")
        return self._within(name, number, Decimal(low), Decimal(high))

    def integer(self, name: str, low: int, high: int, default: int | None = None) -> int:
        return self._within(name, self._read(name, int, default, "must be an integer"), low, high)

    def _read(self, name: str, reader: Callable[[str], _T], default: _T | None, rule: str) -> _T:
        if default is not None and not self._values.get(name):
            return default
        try:
            return reader(self.text(name))
        except (ValueError, ArithmeticError) as error:
            raise BadParameter(name, f"{name} {rule}") from error

    @staticmethod
    def _within(name: str, number: _N, low: _N, high: _N) -> _N:
        if not low <= number <= high:
            raise BadParameter(name, f"{name} must be from {low} to {high}")
        return number


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 2**256):
        raise ValueError(text)
    return int(text)


def _plain(text: str) -> Decimal:
    if not text.replace(".", "", 1).isdecimal():
        raise ValueError(text)
    return Decimal(text)
