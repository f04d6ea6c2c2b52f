"""A vendor as tests meet it; `NAME.py` beside this file has the case of each."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import import_module
from typing import Any, Literal, Protocol

import httpx

from quietswap.rules.amounts import less_slippage
from quietswap.rules.quotes.quote import NoRouteReason, RouteRequest
from quietswap.rules.tokens.token import WETH, Token
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors import OVER_HTTP, VENDORS
from quietswap.sandbox.network import SandboxNetwork
from quietswap.service.base.http_client import HttpClient
from quietswap.service.sources.adapter import VendorAdapter
from tests.upstream import Reply, js
from tests.vendors.router import StandInCase, Swap

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


STRANGER = Address("0x1234567890123456789012345678901234567890")
KEY = "very-secret-key"
ONE = 10**18
AMOUNT = str(ONE)
SOLD, PROMISED, MINIMUM = REQUEST.sell_amount, 3_000_000_000, 2_985_000_000
Calls = list[tuple[str, Mapping[str, str]]]
Words = list[tuple[int, Any]]


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

    def calldata(self, router: StandInCase) -> str:
        minimum = self.minimum if self.enforced is None else self.enforced
        request = self.request
        terms = (request.sell.address, request.buy.address, request.sell_amount, minimum)
        return "0x" + router.method.encode(Swap(*terms, recipient=self.recipient)).hex()


@dataclass(frozen=True)
class Asked:
    """A requested swap: amounts in smallest units, slippage in basis points."""

    sell: str
    buy: str
    amount: int
    wallet: str
    slippage_bps: int = 50


@dataclass(frozen=True)
class Got:
    """The vendor's answer in a common form."""

    router: StandInCase
    promised: int
    to: str
    spender: str
    value: int
    data: bytes

    @property
    def minimum_and_recipient(self) -> tuple[int, str]:
        return self.router.places(self.data)


def calldata(text: str) -> bytes:
    """Return the bytes of 0x-prefixed hex."""
    return bytes.fromhex(text.removeprefix("0x"))


@dataclass(frozen=True)
class PriceSays:
    """How the answer of `price` is read: smallest units, gas units, percent."""

    out: int = PROMISED
    gas: int | None = 1000
    impact: Decimal | None = None


@dataclass(frozen=True)
class RouteSays:
    """How the answer of `body` is read: gas units, exchange (None: the vendor), path."""

    gas: int | None = 253_000
    dex: str | None = None
    path: tuple[Address, ...] = (WETH, DAI, USDC)


class _Adapter(Protocol):
    def __call__(
        self,
        http: HttpClient,
        *,
        base_url: str,
        client_name: str,
        timeout_s: float,
        api_key: str | None = None,
    ) -> VendorAdapter: ...


@dataclass(frozen=True)
class VendorCase:
    """One vendor, with `calls` of its router. Field names of its answers are dotted paths.

    `spenders`: its protocol can name a spender beside the router. `minimum`: where it reports the
    minimum itself. `says` are its usual refusals with status and body, `said` all that are known,
    by what they are read as. `sentence` is a refusal around a text. `body` and `price` are honest
    answers, as small as they can be. `slippage` is its unit, `slippage_name` its parameter. `read`
    reads the stand-in's answer, `client` is one of its API if one GET is not enough.
    """

    name: str
    calls: StandInCase
    says: Mapping[str, tuple[int, dict[str, Any]]]
    body: Callable[[Terms], list[Any]]
    price: Callable[[str, str, str, str], dict[str, Any]]
    asked: Calls
    price_asked: tuple[str, dict[str, str]]
    said: Mapping[NoRouteReason, Words]
    sentence: tuple[int, Callable[[str], Any]]
    amounts: Mapping[str, int]
    gas: Sequence[str]
    addresses: Sequence[str]
    calldata: Sequence[str]
    read: Callable[[Any], Got]
    tokens: Sequence[str] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    price_says: PriceSays = PriceSays()
    route_says: RouteSays = RouteSays()
    slippage: Literal["bps", "percent", "fraction"] = "bps"
    slippage_name: str = "slippage"
    client: (
        Callable[[httpx.AsyncClient, SandboxNetwork, Asked], Awaitable[httpx.Response]] | None
    ) = None
    optional_key: str | None = None
    spenders: bool = False
    minimum: str = ""

    async def ask(
        self, http: httpx.AsyncClient, sandbox: SandboxNetwork, asked: Asked
    ) -> httpx.Response:
        """Ask the stand-in as the adapter asks the vendor."""
        if self.client:
            return await self.client(http, sandbox, asked)
        bps, (call, query) = asked.slippage_bps, self.asked[0]
        values = {WETH: asked.sell, USDC: asked.buy, AMOUNT: str(asked.amount)}
        values |= {WALLET: asked.wallet}
        slippage = {"bps": bps, "percent": f"{bps / 100:.2f}", "fraction": f"{bps / 10_000:.4f}"}
        params = {name: values.get(value, value) for name, value in query.items()}
        params[self.slippage_name] = slippage[self.slippage]
        url = sandbox.venues[self.name] + call.removeprefix("GET ")
        return await http.get(url, params=params, headers=self.headers)

    @property
    def adapter(self) -> _Adapter:
        made: _Adapter = import_module(f"quietswap.service.sources.{self.name}").Adapter
        return made

    @property
    def router(self) -> Address:
        return VENDORS[self.name].router

    def refusal(self, kind: str) -> Reply:
        """Return the answer of `says`."""
        status, body = self.says[kind]
        return js(body, status)

    def made(self, http: HttpClient, url: str, timeout_s: float = 5.0) -> VendorAdapter:
        """Return the adapter, with a key where it needs one."""
        key = KEY if VENDORS[self.name].needs_key else None
        adapter: _Adapter = import_module(f"quietswap.service.sources.{self.name}").Adapter
        return adapter(http, base_url=url, client_name="house", timeout_s=timeout_s, api_key=key)

    def replies(self, **changes: Any) -> list[Reply]:
        """Return the answers to one request, one per call, on `Terms` changed so."""
        terms = Terms(target=changes.pop("target", self.router), **changes)
        bodies = self.body(terms)
        for path, value in terms.fields.items():
            found = [_replace(body, path.split("."), value) for body in bodies]
            assert any(found), f"{self.name} has no field {path}"
        return [js(body) for body in bodies]


def _replace(body: Any, path: list[str], value: Any) -> bool:
    *outer, last = path
    for name in outer:
        body = body.get(name) if isinstance(body, dict) else None
    if not isinstance(body, dict) or last not in body:
        return False
    body[last] = value
    return True


def cases() -> dict[str, VendorCase]:
    """Return the case of each vendor, by name."""
    return {name: import_module(f"tests.vendors.{name}").CASE for name in OVER_HTTP}
