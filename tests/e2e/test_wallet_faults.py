"""Transactions of wallets while the node and the relay fail: none lost, none false, none leaked.

Six faults, one after the other. Under each, every wallet sends three new transactions, one that no
quote asked for, and one that it has sent before: 60 transactions by two wallets. The long form is
`QUIETSWAP_RPC_WALLETS=17`: 510 transactions, of which 102 are unmatched and 102 repeated.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest
from eth_utils import keccak, to_hex

from quietswap.rules.orders.order import FailureCode, Order
from quietswap.service.base.clock import SystemClock
from quietswap.service.storage.order_search import OrderFilter, search_orders
from tests.e2e.conftest import running_town
from tests.e2e.wallets import Fields, Refused, RpcWallet, deposit, eventually, quoted
from tests.patient import open_storage
from tests.spec.api_client import ETHER, ApiClient

WALLETS = int(os.environ.get("QUIETSWAP_RPC_WALLETS", "2"))
FAULTS = (
    ("lag:2", ("node",)),
    ("flap:0.3", ("node",)),
    ("withhold", ("relay", "backup_relay")),
    ("answer_lost", ("relay", "backup_relay")),
    ("refuse:intrinsic gas too low", ("relay", "backup_relay")),
    ("reorg", ()),
)
NEW_TRANSACTIONS = 3
_AT_ONCE = 4
_GAVE_UP = {"QUOTE_EXPIRED"}

pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("wallet-faults")]


@pytest.fixture
def desk() -> Iterator[ApiClient]:
    with running_town("--block-time", "0.5") as town, ApiClient(town) as found:
        yield found


@dataclass
class Persona:
    """One wallet, what it was promised, and what it was refused."""

    wallet: RpcWallet
    nonce: int = 0
    raws: list[str] = field(default_factory=list)
    promised: list[str] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    answers: "Counter[str]" = field(default_factory=Counter)
    left: list[Fields] = field(default_factory=list)

    def prepare(self) -> None:
        """Plan the new transactions of a phase: a swap and two wraps."""
        quote = self._quote()
        self.wallet.desk.approve(self.wallet.account, quote)
        wraps = [deposit(ETHER // 1000, nonce=0) for _ in range(NEW_TRANSACTIONS - 1)]
        self.left = [quoted(quote), *wraps]

    def _quote(self) -> dict[str, Any]:
        """Return a quote; a node on a busy machine may need another request.

        Each sells another amount: the same swap at two nonces is refused while the first is open.
        """
        desk, found = self.wallet.desk, list[dict[str, Any]]()
        amount = ETHER // 100 + self.nonce

        def there() -> bool:
            answer = desk.ask_quote(self.wallet.account, sellAmount=str(amount))
            if answer.status_code == 200:
                found.append(answer.json()["data"])
            return bool(found)

        desk.until(there)
        return found[0]

    def meet(self) -> None:
        """Send under a fault: new ones until one is refused, an unmatched and a repeated one."""
        try:
            while self.left:
                self._send_next()
        except Refused as refusal:
            self._note(refusal)
        stray = {"to": self.wallet.desk.town.facts["wallets"][0]["address"], "value": ETHER}
        own = {"gas": 21_000, "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 0}
        raw = self.wallet.sign(stray | own | {"nonce": self.nonce})
        self.unmatched.append(to_hex(keccak(hexstr=raw)))
        with pytest.raises(Refused, match="not sent anywhere"):
            self.wallet.call("eth_sendRawTransaction", raw)
        if self.raws:
            again = eventually(lambda: self.wallet.call("eth_sendRawTransaction", self.raws[-1]))
            assert again == self.promised[-1]

    def finish(self) -> None:
        """Send what was refused under the fault."""
        while self.left:
            eventually(self._retry)

    def _retry(self) -> str:
        try:
            return self._send_next()
        except Refused as refusal:
            if refusal.data["details"].get("reason") in _GAVE_UP:
                self.left[0] = quoted(self._quote())
            self._note(refusal)
            raise

    def _send_next(self) -> str:
        raw = self.wallet.sign(self.left[0] | {"nonce": self.nonce})
        tx_hash = str(self.wallet.call("eth_sendRawTransaction", raw))
        self.left.pop(0)
        self.nonce += 1
        self.raws.append(raw)
        self.promised.append(tx_hash)
        self.answers["taken"] += 1
        return tx_hash

    def _note(self, refusal: Refused) -> None:
        assert refusal.code == -32003
        details = refusal.data["details"]
        may_be_mined = details.get("mayBeMined", False)
        assert refusal.message.startswith("not sent anywhere") is not may_be_mined
        self.answers[f"{refusal.data['code']} {details.get('reason', '')}".strip()] += 1


def stored(desk: ApiClient, persona: Persona) -> list[Order]:
    """Return all orders of the wallet as the operator reads them."""

    async def read() -> list[Order]:
        storage = await open_storage(desk.database_url, clock=SystemClock())
        try:
            wanted = OrderFilter(wallet=persona.wallet.account.address)
            return list(await search_orders(storage.database, wanted, 10_000))
        finally:
            await storage.close()

    return asyncio.run(read())


def agrees_with_the_chain(order: Order, receipt: dict[str, Any] | None) -> bool:
    """Return whether the order's status says what the node's receipt says."""
    if order.status.value == "confirmed":
        return receipt is not None and receipt["status"] == "0x1"
    if order.failure is not None and order.failure.code is FailureCode.REVERTED:
        return receipt is not None and receipt["status"] == "0x0"
    return receipt is None


def under_faults(desk: ApiClient, personas: list[Persona]) -> None:
    """Let all wallets meet each fault, and finish after it."""
    with ThreadPoolExecutor(min(WALLETS, _AT_ONCE)) as threads:
        for fault, parts in FAULTS:
            list(threads.map(Persona.prepare, personas))
            with desk.fault(fault, *parts) if parts else nullcontext():
                list(threads.map(Persona.meet, personas))
            if not parts:
                desk.town.control.post("/reorg", json={"depth": 2}).raise_for_status()
            list(threads.map(Persona.finish, personas))


def test_no_transaction_is_lost_false_or_leaked(desk: ApiClient) -> None:
    personas = [Persona(RpcWallet.of(desk)) for _ in range(WALLETS)]
    under_faults(desk, personas)
    for persona in personas:
        desk.until(
            lambda persona=persona: all(o.status.is_terminal for o in stored(desk, persona))  # type: ignore[misc]
        )
    leaks = desk.town.control.get("/mempool-leaks").json()["leaks"]
    assert leaks == []
    for persona in personas:
        orders = {order.tx_hash: order for order in stored(desk, persona)}
        assert len(persona.promised) == len(FAULTS) * NEW_TRANSACTIONS
        assert set(persona.promised) <= set(orders), "an order is lost"
        for order in orders.values():
            receipt = desk.rpc("eth_getTransactionReceipt", order.tx_hash)
            assert agrees_with_the_chain(order, receipt), order
        for tx_hash in persona.unmatched:
            assert tx_hash not in orders
            assert desk.rpc("eth_getTransactionByHash", tx_hash) is None
        used = desk.rpc("eth_getTransactionCount", persona.wallet.account.address, "latest")
        assert int(used, 16) == persona.nonce
    total = sum((persona.answers for persona in personas), Counter())
    ends = Counter(order.status.value for p in personas for order in stored(desk, p))
    assert total["VALIDATION_ERROR REFUSED"] >= 1, f"no relay refused anything: {total}"
    print(f"\nwallet RPC under faults: {WALLETS} wallets, answers {dict(total)}, ends {dict(ends)}")
