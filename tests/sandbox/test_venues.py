"""Every venue: quotes by the pools, calldata that delivers the quote, faults."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from quietswap.rules.vendors import VENDORS
from quietswap.sandbox.contracts.abi import WALLETS
from quietswap.sandbox.contracts.addresses import ROUTERS
from quietswap.sandbox.contracts.pools import ODD_TOKENS, TOKENS
from quietswap.sandbox.faults import VENUES
from quietswap.sandbox.network import SandboxNetwork, running_network
from quietswap.sandbox.vendors.stand_in import STRANGER
from tests import loopback
from tests.sandbox.accounts import send
from tests.vendors.case import ONE, Asked, Got, cases
from tests.waiting import WITHIN_S

ALICE = WALLETS[0].address
CASES = cases()
WETH, USDC, USDT, DAI, WBTC = (TOKENS[name] for name in ("WETH", "USDC", "USDT", "DAI", "WBTC"))
UNKNOWN = "0x000000000000000000000000000000000000dEaD"


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[SandboxNetwork]:
    async with running_network(paused=True) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(shared: SandboxNetwork) -> AsyncIterator[SandboxNetwork]:
    """The module's sandbox in its first state: trades and faults of each test are undone."""
    snapshot = await shared.chain.rpc.call("evm_snapshot")
    yield shared
    shared.active_faults.clear("venues")
    await shared.chain.rpc.call("evm_revert", snapshot)


@pytest_asyncio.fixture(loop_scope="module")
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with loopback.AsyncClient(timeout=WITHIN_S, trust_env=False) as client:
        yield client


class Shop:
    """A client of the venues of one sandbox."""

    def __init__(self, http: httpx.AsyncClient, sandbox: SandboxNetwork) -> None:
        self._http = http
        self.sandbox = sandbox

    async def raw(self, vendor: str, **changes: Any) -> httpx.Response:
        """Return the answer to a request for 1 WETH in USDC, with these changes."""
        asked = Asked(
            **(
                {"sell": WETH.address, "buy": USDC.address, "amount": ONE, "wallet": ALICE}
                | changes
            )
        )
        return await CASES[vendor].ask(self._http, self.sandbox, asked)

    async def __call__(self, vendor: str, **changes: Any) -> Got:
        reply = await self.raw(vendor, **changes)
        assert reply.status_code == 200, reply.text
        return CASES[vendor].read(reply.json())


@pytest.fixture
def shop(http: httpx.AsyncClient, sandbox: SandboxNetwork) -> Shop:
    return Shop(http, sandbox)


async def _swapped(sandbox: SandboxNetwork, got: Got, sell: Any, buy: Any) -> int:
    """Send the venue's transaction as Alice and return what she receives."""
    key = sell.allowance_key(ALICE, got.spender)
    word = f"0x{2**255:064x}"
    await sandbox.chain.rpc.call("anvil_setStorageAt", sell.address, key, word)
    before = await sandbox.chain.token_balance(buy.address, ALICE)
    tx_hash = await send(sandbox.chain, ALICE, got.to, got.data, value=got.value, gas=900_000)
    await sandbox.chain.mine()
    receipt = await sandbox.chain.receipt(tx_hash)
    assert receipt is not None
    assert receipt["status"] == "0x1"
    return await sandbox.chain.token_balance(buy.address, ALICE) - before


@pytest.mark.parametrize("vendor", VENUES)
async def test_the_calldata_keeps_the_promise(shop: Shop, vendor: str) -> None:
    got = await shop(vendor)
    least, recipient = got.minimum_and_recipient
    assert got.to.lower() == got.spender.lower() == ROUTERS[vendor].lower()
    assert (got.value, recipient) == (0, ALICE.lower())
    received = await _swapped(shop.sandbox, got, WETH, USDC)
    assert received >= least
    assert got.promised <= received <= got.promised * 1002 // 1000


@pytest.mark.parametrize("vendor", VENUES)
@pytest.mark.parametrize("bps", [5, 50, 300])
async def test_slippage_is_in_the_vendors_unit(shop: Shop, vendor: str, bps: int) -> None:
    got = await shop(vendor, slippage_bps=bps)
    honest = await shop(vendor, slippage_bps=500)
    most = honest.minimum_and_recipient[0] * 10_000 / 9_500
    assert got.minimum_and_recipient[0] == pytest.approx(most * (10_000 - bps) / 10_000, rel=1e-8)


@pytest.mark.parametrize("vendor", VENUES)
@pytest.mark.parametrize(
    ("sell", "buy", "amount"),
    [(USDC, WETH, 5_000 * 10**6), (USDT, WBTC, 900 * 10**6), (DAI, USDC, 700 * ONE)],
    ids=["USDC-WETH", "USDT-WBTC", "DAI-USDC"],
)
async def test_other_pairs_work_too(
    shop: Shop, vendor: str, sell: Any, buy: Any, amount: int
) -> None:
    got = await shop(vendor, sell=sell.address, buy=buy.address, amount=amount, slippage_bps=100)
    least, _ = got.minimum_and_recipient
    assert await _swapped(shop.sandbox, got, sell, buy) >= least > 0


async def test_the_best_venue_depends_on_the_size(shop: Shop) -> None:
    async def best(amount: int) -> str:
        received = {}
        for vendor in VENUES[:4]:
            got = await shop(vendor, amount=amount, slippage_bps=50)
            snapshot = await shop.sandbox.chain.rpc.call("evm_snapshot")
            received[vendor] = await _swapped(shop.sandbox, got, WETH, USDC)
            await shop.sandbox.chain.rpc.call("evm_revert", snapshot)
        return max(received, key=lambda name: received[name])

    assert await best(ONE) == "kyberswap"
    assert await best(10 * ONE) == "velora"


@pytest.mark.parametrize("vendor", VENUES)
async def test_a_lie_is_in_the_promise_and_in_the_minimum(shop: Shop, vendor: str) -> None:
    truth = await shop(vendor)
    shop.sandbox.active_faults.put(vendor, "lie:2.0")
    lie = await shop(vendor)
    assert abs(lie.promised - 2 * truth.promised) <= 1
    assert lie.minimum_and_recipient[0] > truth.promised


@pytest.mark.parametrize("vendor", VENUES)
async def test_faults_in_the_transaction(shop: Shop, vendor: str) -> None:
    truth, active_faults = await shop(vendor), shop.sandbox.active_faults
    active_faults.put(vendor, "short_minimum")
    short = await shop(vendor)
    assert short.promised == truth.promised
    assert short.minimum_and_recipient[0] == truth.minimum_and_recipient[0] // 2
    active_faults.put(vendor, "foreign_recipient")
    assert (await shop(vendor)).minimum_and_recipient[1] == STRANGER.lower()
    active_faults.put(vendor, "value_not_zero")
    assert (await shop(vendor)).value == 10**18
    active_faults.put(vendor, "foreign_router")
    foreign = await shop(vendor)
    assert foreign.to.lower() == foreign.spender.lower() == STRANGER.lower()
    if "spender_differs" in VENDORS[vendor].faults:
        active_faults.put(vendor, "spender_differs")
        differs = await shop(vendor)
        assert differs.to.lower() == ROUTERS[vendor].lower()
        assert differs.spender.lower() == STRANGER.lower()


@pytest.mark.parametrize("vendor", VENUES)
@pytest.mark.parametrize("fault", ["no_route", "unknown_token", "rate_limited", "refused"])
async def test_refusals_are_in_the_vendors_words(shop: Shop, vendor: str, fault: str) -> None:
    shop.sandbox.active_faults.put(vendor, fault)
    reply = await shop.raw(vendor)
    status, part = CASES[vendor].says.get(fault, (429, {}))
    assert reply.status_code == status
    assert part.items() <= reply.json().items()


@pytest.mark.parametrize("vendor", VENUES)
async def test_without_a_fault_an_unknown_token_is_unknown(shop: Shop, vendor: str) -> None:
    reply = await shop.raw(vendor, buy=UNKNOWN)
    status, part = CASES[vendor].says["no_route" if vendor == "sushi" else "unknown_token"]
    assert reply.status_code == status
    assert part.items() <= reply.json().items()


@pytest.mark.parametrize("vendor", VENUES)
async def test_a_swap_too_small_for_the_pools_has_no_route(shop: Shop, vendor: str) -> None:
    reply = await shop.raw(vendor, amount=1)
    status, part = CASES[vendor].says["no_route"]
    assert reply.status_code == status
    assert part.items() <= reply.json().items()


@pytest.mark.parametrize("vendor", VENUES)
@pytest.mark.parametrize("amount", ["0", "-1", "1.5", "1e18", "0x10", "", "９", str(2**256)])
async def test_misshapen_amounts_are_refused(shop: Shop, vendor: str, amount: str) -> None:
    reply = await shop.raw(vendor, amount=amount)
    assert reply.status_code in {400, 422}


@pytest.mark.parametrize("vendor", VENUES)
async def test_a_token_with_a_fee_delivers_less_than_is_promised(shop: Shop, vendor: str) -> None:
    fee = ODD_TOKENS["FEE"]
    got = await shop(vendor, buy=fee.address, slippage_bps=500)
    assert await _swapped(shop.sandbox, got, WETH, fee) < got.promised
