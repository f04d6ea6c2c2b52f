"""The common part of the venues: request parsing, pricing, calldata and faults.

Each vendor's wire format and route choice are in its own module.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from quietswap.chain import address as addresses
from quietswap.chain.address import Address
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.abi import Call
from quietswap.sandbox.contracts.pools import SandboxToken
from quietswap.sandbox.faults import ActiveFaults
from quietswap.sandbox.http_server import Answer, HttpRequest
from quietswap.sandbox.rpc import SandboxRpcClient
from quietswap.sandbox.vendors.hostile_calldata import Attack
from quietswap.sandbox.vendors.market import Hop, Market, PoolRoute, PricedRoute, RouteChoice
from quietswap.sandbox.vendors.router_calldata import RouterSwap
from quietswap.vendors.vendor import Vendor

STRANGER = addresses.from_any_case("0xbad0000000000000000000000000000000000bad")
"""The recipient, router or spender that a fault names; its key is unknown."""
ONE_ETH = 10**18
_FINE = 10_000
"""Slippage is rounded to 1/10 000 of a basis point: vendors take it in percent and fractions."""
_T = TypeVar("_T")
_N = TypeVar("_N", int, Decimal)


class RejectReason(Enum):
    """Why a venue has no quote. Each vendor reports it in its own format."""

    NO_ROUTE = "no_route"
    UNKNOWN_TOKEN = "unknown_token"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"


class QuoteRejected(Exception):
    """The venue has no quote."""

    def __init__(self, miss: RejectReason) -> None:
        super().__init__(miss.value)
        self.miss = miss


class BadParameter(Exception):
    """The request is invalid: `name` is the parameter, `str()` is the reason."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name


@dataclass(frozen=True, slots=True)
class PriceRequest:
    """A price request: `amount` in smallest units of `sell`."""

    sell: SandboxToken
    buy: SandboxToken
    amount: int


@dataclass(frozen=True, slots=True)
class PriceQuote:
    """A quote: `delivered` is the output at the latest block, `promised` what the venue says."""

    ask: PriceRequest
    route: PoolRoute
    delivered: int
    promised: int


@dataclass(frozen=True, slots=True)
class HopAmounts:
    """One hop of an offer with its input and output amounts."""

    hop: Hop
    amount_in: int
    amount_out: int


_GOVERNED = frozenset({"drain", "new_implementation", "settlers_removed"})
"""The faults that need the vendor's administrator keys on mainnet."""


@dataclass
class VendorGovernance:
    """Changes a vendor's contracts as its fault needs, and back when the fault ends.

    On mainnet the vendor changes which code and targets they trust by a transaction. Here it is a
    word of storage.
    """

    vendor: str
    under: Callable[[str | None], Sequence[Call]]
    rpc: SandboxRpcClient
    active_faults: ActiveFaults
    _shown: str | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def settle(self) -> None:
        """Apply the state that the current fault needs."""
        async with self._lock:
            kind = self.active_faults.kind(self.vendor)
            needed = kind if kind in _GOVERNED else None
            if needed != self._shown:
                await self.rpc.batch(self.under(needed))
                self._shown = needed


@dataclass(frozen=True)
class QuoteEngine:
    """Prices and calldata of the vendor `name`, with its active fault."""

    name: str
    market: Market
    active_faults: ActiveFaults
    choose: RouteChoice
    encode: Attack
    attacks: Mapping[str, Attack]
    governance: VendorGovernance

    @property
    def router(self) -> Address:
        """The contract to call and approve, as this venue names it now."""
        return STRANGER if self._shows("foreign_router") else contract_addresses.ROUTERS[self.name]

    @property
    def spender(self) -> Address:
        """The contract to approve, where the vendor names one in addition to the router."""
        return STRANGER if self._shows("spender_differs") else self.router

    @property
    def value(self) -> int:
        """The transaction's value in wei."""
        return ONE_ETH if self._shows("value_not_zero") else 0

    async def transaction(self, data: str) -> dict[str, str]:
        """Return the transaction fields that most vendors name alike."""
        price = str(await self.market.gas_price())
        to = self.router.lower()
        return {"to": to, "data": data, "value": str(self.value), "gasPrice": price}

    def check_open(self) -> None:
        """Raise QuoteRejected when a fault keeps the venue from quoting."""
        kind = self.active_faults.kind(self.name)
        if kind in {miss.value for miss in RejectReason}:
            raise QuoteRejected(RejectReason(kind))

    def ask(self, sell: Address, buy: Address, amount: int) -> PriceRequest:
        """Return the request. Raises QuoteRejected when a token is unknown."""
        tokens = self.market.token(sell), self.market.token(buy)
        if tokens[0] is None or tokens[1] is None:
            raise QuoteRejected(RejectReason.UNKNOWN_TOKEN)
        return PriceRequest(tokens[0], tokens[1], amount)

    async def offer(self, ask: PriceRequest) -> PriceQuote:
        """Return the route that this venue chooses. Raises QuoteRejected."""
        self.check_open()
        await self.governance.settle()
        priced = await self.market.route(ask.sell.address, ask.buy.address, ask.amount, self.choose)
        if priced is None:
            raise QuoteRejected(RejectReason.NO_ROUTE)
        return PriceQuote(ask, priced.route, priced.amount_out, self.promise(priced.amount_out))

    async def asked(self, query: "QueryParams", sell: str, buy: str, amount: str) -> PriceQuote:
        """Return the offer for a query; `sell`, `buy` and `amount` are its parameter names.

        Raises QuoteRejected and BadParameter.
        """
        tokens = query.address(sell), query.address(buy)
        return await self.offer(self.ask(*tokens, query.amount(amount)))

    async def steps(self, offer: PriceQuote) -> list[HopAmounts]:
        """Return an offer's hops with their real amounts."""
        steps, amount = [], offer.ask.amount
        for hop in offer.route.hops:
            out = await self.market.delivers(PoolRoute((hop,)), amount)
            steps.append(HopAmounts(hop, amount, out))
            amount = out
        return steps

    def promise(self, amount: int) -> int:
        """Return an amount as this venue quotes it."""
        fault = self.active_faults.of(self.name)
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
        """Return the calldata of the vendor's router as 0x text."""
        swap = RouterSwap(
            offer.route,
            offer.ask.amount,
            min_out // 2 if self._shows("short_minimum") else min_out,
            STRANGER if self._shows("foreign_recipient") else recipient,
            quoted_out=offer.promised,
            deadline=deadline,
            fee_bps=fee_bps,
        )
        return "0x" + self.attacks.get(self.active_faults.kind(self.name), self.encode)(swap).hex()

    def _shows(self, kind: str) -> bool:
        return self.active_faults.shows(self.name, kind)


class VendorStandIn(ABC):
    """The stand-in for one aggregator: `handle` serves its HTTP API."""

    vendor: ClassVar[Vendor]
    attacks: ClassVar[Mapping[str, Attack]]
    """By fault."""
    contracts: ClassVar[Mapping[Address, str]]
    """Names in contracts/artifacts.json, by address."""

    def __init__(self, market: Market, active_faults: ActiveFaults) -> None:
        name = self.vendor.name
        self.governance = VendorGovernance(name, self.under, market.chain.rpc, active_faults)
        self._engine = QuoteEngine(
            name, market, active_faults, self.choose, self.encode, self.attacks, self.governance
        )

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

    async def handle(self, request: HttpRequest) -> Answer:
        """Answer one request."""
        try:
            return await self._answer(request, QueryParams(request.query))
        except QuoteRejected as error:
            return self._missed(error.miss)
        except BadParameter as error:
            return self._invalid(request, error)

    @staticmethod
    @abstractmethod
    def choose(routes: Sequence[PricedRoute]) -> PricedRoute | None:
        """Choose among routes, which are sorted by output."""

    @abstractmethod
    async def _answer(self, request: HttpRequest, query: "QueryParams") -> Answer:
        """Answer one request. Raises QuoteRejected and BadParameter."""

    @abstractmethod
    def _missed(self, miss: RejectReason) -> Answer:
        """Return the vendor's answer when there is no quote."""

    @abstractmethod
    def _invalid(self, request: HttpRequest, error: BadParameter) -> Answer:
        """Return the vendor's answer to an invalid request."""


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
        """Return a parameter's text."""
        found = self._values.get(name) or default
        if found is None:
            raise BadParameter(name, f"{name} is required")
        return found

    def flag(self, name: str) -> bool:
        """Return whether a parameter is `true`."""
        return self._values.get(name) == "true"

    def address(self, name: str, default: Address | None = None) -> Address:
        """Return an address in any case."""
        return self._read(name, addresses.from_any_case, default, "must be an address")

    def amount(self, name: str) -> int:
        """Return a positive number of smallest units."""
        return self._read(name, _positive, None, "must be a positive integer")

    def decimal(self, name: str, low: str, high: str, default: str | None = None) -> Decimal:
        """Return a plain decimal number (no exponent) from `low` to `high`."""
        number = self._read(name, _plain, Decimal(default) if default else None, "must be a number")
        return self._within(name, number, Decimal(low), Decimal(high))

    def integer(self, name: str, low: int, high: int, default: int | None = None) -> int:
        """Return a whole number from `low` to `high`."""
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
