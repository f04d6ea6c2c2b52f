"""What the venues have in common: pricing, calldata and faults.

Each vendor's wire format and manners are in a module of its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import TypeVar

from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.sandbox import places
from quietswap.sandbox.faults import FaultBoard
from quietswap.sandbox.routers import ENCODERS, RouterSwap
from quietswap.sandbox.routes import Hop, PoolRoute
from quietswap.sandbox.tokens import SandboxToken
from quietswap.sandbox.venues.market import Market, Taste

STRANGER = addresses.from_any_case("0xbad0000000000000000000000000000000000bad")
"""The recipient, router or spender a fault names; nobody's address."""
ONE_ETH = 10**18
_FINE = 10_000
"""Basis points are counted in ten-thousandths: vendors take slippage in percent and fractions."""
_T = TypeVar("_T")


class Miss(Enum):
    """Why a venue has nothing to offer; each writes it in its own words."""

    NO_ROUTE = "no_route"
    UNKNOWN_TOKEN = "unknown_token"
    RATE_LIMITED = "rate_limited"
    REFUSED = "refused"


class Missed(Exception):
    """The venue has nothing to offer."""

    def __init__(self, miss: Miss) -> None:
        super().__init__(miss.value)
        self.miss = miss


class BadParameter(Exception):
    """The request breaks the vendor's rules: `name` is the parameter, `str()` says how."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name


@dataclass(frozen=True, slots=True)
class Ask:
    """A price request: `amount` in smallest units of `sell`."""

    sell: SandboxToken
    buy: SandboxToken
    amount: int


@dataclass(frozen=True, slots=True)
class Offer:
    """What a venue promises: `delivered` is the truth at the latest block, `promised` its word."""

    ask: Ask
    route: PoolRoute
    delivered: int
    promised: int


@dataclass(frozen=True, slots=True)
class Step:
    """One hop of an offer with what goes in and what comes out."""

    hop: Hop
    amount_in: int
    amount_out: int


class Desk:
    """Prices and writes calldata for the vendor `name`, spoilt by whatever fault is on."""

    def __init__(self, name: str, market: Market, board: FaultBoard, taste: Taste) -> None:
        self.name = name
        self.market = market
        self._board = board
        self._taste = taste

    @property
    def router(self) -> Address:
        """The contract to call and approve, as this venue names it now."""
        return STRANGER if self._shows("foreign_router") else places.ROUTERS[self.name]

    @property
    def spender(self) -> Address:
        """The contract to approve, where the vendor names one beside the router."""
        return STRANGER if self._shows("spender_differs") else self.router

    @property
    def value(self) -> int:
        """The wei to send along."""
        return ONE_ETH if self._shows("value_not_zero") else 0

    def check_open(self) -> None:
        """Raise Missed when a fault keeps the venue from answering anything."""
        fault = self._board.of(self.name)
        if fault is not None and fault.kind in {miss.value for miss in Miss}:
            raise Missed(Miss(fault.kind))

    def ask(self, sell: Address, buy: Address, amount: int) -> Ask:
        """Return the request when both tokens are known. Raises Missed."""
        tokens = self.market.token(sell), self.market.token(buy)
        if tokens[0] is None or tokens[1] is None:
            raise Missed(Miss.UNKNOWN_TOKEN)
        return Ask(tokens[0], tokens[1], amount)

    async def offer(self, ask: Ask) -> Offer:
        """Return the best route by this venue's taste. Raises Missed."""
        self.check_open()
        priced = await self.market.route(ask.sell.address, ask.buy.address, ask.amount, self._taste)
        if priced is None:
            raise Missed(Miss.NO_ROUTE)
        promised = self.promise(priced.amount_out)
        return Offer(ask, priced.route, priced.amount_out, promised)

    async def steps(self, offer: Offer) -> list[Step]:
        """Return an offer's hops with their amounts, as they really are."""
        steps, amount = [], offer.ask.amount
        for hop in offer.route.hops:
            out = await self.market.delivers(PoolRoute((hop,)), amount)
            steps.append(Step(hop, amount, out))
            amount = out
        return steps

    def promise(self, amount: int) -> int:
        """Return an amount as this venue says it."""
        fault = self._board.of(self.name)
        if fault is None or fault.kind != "lie":
            return amount
        return int(amount * Fraction(fault.share))

    def calldata(
        self,
        offer: Offer,
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
        return "0x" + ENCODERS[self.name](swap).hex()

    def _shows(self, kind: str) -> bool:
        return self._board.shows(self.name, kind)


def less(amount: int, bps: Decimal | int) -> int:
    """Return `amount` less so many basis points, rounded down, in integers."""
    return amount * (10_000 * _FINE - int(bps * _FINE)) // (10_000 * _FINE)


class Query:
    """The parameters of a request; a missing or misshapen one raises BadParameter by its name."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def text(self, name: str, default: str | None = None) -> str:
        """Return a parameter's text."""
        found = self._values.get(name) or default
        if found is None:
            raise BadParameter(name, f"{name} is required")
        return found

    def address(self, name: str, default: Address | None = None) -> Address:
        """Return an address in any case."""
        return self._read(name, addresses.from_any_case, default, "must be an address")

    def amount(self, name: str) -> int:
        """Return a positive number of smallest units, in digits."""
        return self._read(name, _positive, None, "must be a positive integer")

    def decimal(self, name: str, low: str, high: str, default: str | None = None) -> Decimal:
        """Return a plain decimal number (no exponent) from `low` to `high`."""
        number = self._read(name, _plain, Decimal(default) if default else None, "must be a number")
        if not Decimal(low) <= number <= Decimal(high):
            raise BadParameter(name, f"{name} must be from {low} to {high}")
        return number

    def integer(self, name: str, low: int, high: int, default: int | None = None) -> int:
        """Return a whole number from `low` to `high`."""
        number = self._read(name, int, default, "must be an integer")
        if not low <= number <= high:
            raise BadParameter(name, f"{name} must be from {low} to {high}")
        return number

    def _read(self, name: str, reader: Callable[[str], _T], default: _T | None, rule: str) -> _T:
        if default is not None and not self._values.get(name):
            return default
        try:
            return reader(self.text(name))
        except (ValueError, ArithmeticError) as error:
            raise BadParameter(name, f"{name} {rule}") from error


def _positive(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 2**256):
        raise ValueError(text)
    return int(text)


def _plain(text: str) -> Decimal:
    if not text.replace(".", "", 1).isdecimal():
        raise ValueError(text)
    return Decimal(text)
