"""A node with one token, one wallet and instant blocks: it reads what is really signed."""

import re
import time as clock
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import rlp
from eth_account import Account
from eth_utils import keccak

from quietswap.rules.chain.rpc_wire import SEND
from quietswap.rules.routers.feeds import FEEDS
from quietswap.rules.tokens.token import WETH
from tests.api.scripted_use_cases import ROUTER, WALLET
from tests.client.fake_node import NodeSays, Swallowed
from tests.stored_orders import USDC

ACCOUNT = Account.from_key("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
"""The first well-known development key; its address is `tests.api.scripted_use_cases.WALLET`."""

APPROVE, ALLOWANCE = "095ea7b3", "dd62ed3e"
BALANCE_OF, DECIMALS, SYMBOL = "70a08231", "313ce567", "95d89b41"
USED = {"status": "0x1", "gasUsed": hex(30_000)}
LATEST_ROUND_DATA = "feaf968c"
_SUPPORTS_MODE = "0xd03c7914"
PRICES = {FEEDS[WETH].address: 3000, FEEDS[USDC].address: 1}
"""USD by feed, as the usual quote has them."""


def transfer(token: str, sender: str, to: str, amount: int) -> dict[str, Any]:
    """Return a Transfer as a receipt shows it."""
    topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    ends = ["0x" + end[2:].lower().rjust(64, "0") for end in (sender, to)]
    return {"address": token.lower(), "topics": [topic, *ends], "data": f"0x{amount:064x}"}


@dataclass
class FakeChain:
    """`allowances` by router (lower case); `resets_first` behaves as USDT; `holds` back receipts
    of the next so many polls; `swallows` takes a transaction and never answers; `hides` a
    transaction as soon as something is mined; `waiting` transactions of the wallet are in its
    pool; the next `lags` answers of its nonce in the latest block are one transaction behind;
    after `settles` of them what is waiting is mined, and was an approval. What is no approval is
    estimated as `gas`, or reverts with the words `refusal`. With `replaced_in`, that block holds
    another transaction of the wallet, which used the newest nonce, and all blocks have their state.
    """

    allowances: dict[str, int] = field(default_factory=dict)
    replaced_in: int | None = None
    resets_first: bool = False
    reverts: bool = False
    holds: int = 0
    nonce: int = 7
    waiting: int = 0
    lags: int = 0
    settles: int = 0
    mined: int = 0
    chain_id: int = 1
    decimals: int | None = 6
    balance: int = 10**24
    ether: int = 5 * 10**18
    tip: int = 10**9
    delivers: int | None = None
    takes: int = 0
    trial_reverts: bool = False
    root_name: str | None = "beaconRoot"
    trial_says: str = "no deal"
    trial_logs: list[dict[str, Any]] = field(default_factory=list)
    trials: list[Any] = field(default_factory=list)
    head: int = 19_000_000
    time: int = field(default_factory=lambda: int(clock.time()))
    base_fee: int = 3 * 10**9
    price_age: int = 0
    prices: dict[str, int] = field(default_factory=lambda: dict(PRICES))
    forgets: bool = False
    hides: str | None = None
    swallows: bool = False
    trial_gas: int = 200_000
    trial_peak: int | None = None
    trial_needs: int = 0
    is_amsterdam: bool = False
    transfer_fee_bps: int = 0
    payer_fee_bps: int = 0
    payer_fails: bool = False
    probe_steps: int = 5
    known: set[str] = field(default_factory=set)
    sent: list[Any] = field(default_factory=list)
    gas: int = 21_000
    refusal: str = ""
    transactions: dict[str, dict[str, str]] = field(default_factory=dict)
    receipts: dict[str, dict[str, Any]] = field(default_factory=dict)
    logs: list[dict[str, Any]] = field(
        default_factory=lambda: [transfer(USDC, ROUTER, WALLET, 3 * 10**9)]
    )

    busy: Callable[[str], NodeSays | None] = lambda _: None
    """The error that a method is answered with, if any."""

    code: str = "0x"
    """The wallet's code; after a batch it leaves the router `left`, and supports the mode if 1."""
    left: int = 0
    mode: int = 1

    state_from: int = 0
    """The state of the blocks before it is gone."""

    lates: int = 0
    """Of several backends one is a block behind: after each transaction it answers the first so
    many calls of each method.
    """
    behind: "FakeChain | None" = None
    asked: Counter[str] = field(default_factory=Counter)

    def __call__(self, method: str, params: list[Any]) -> Any:
        if (refusal := self.busy(method)) is not None:
            raise refusal
        self.asked[method] += 1
        if self.behind is not None and self.asked[method] <= self.lates and method != SEND:
            tag = params[-1] if params else ""
            named = isinstance(tag, str) and re.fullmatch("0x[0-9a-f]{1,9}", tag)
            if named and int(tag, 16) > self.behind.head:
                raise NodeSays("header not found", -32000)
            return getattr(self.behind, method)(*params)
        return getattr(self, method)(*params)

    def eth_chainId(self) -> str:  # noqa: N802
        return hex(self.chain_id)

    def eth_getBalance(self, _wallet: str, _block: str) -> str:  # noqa: N802
        return hex(self.ether)

    def eth_getCode(self, _wallet: str, _block: str) -> str:  # noqa: N802
        return self.code

    def eth_getTransactionCount(self, _wallet: str, block: str) -> str:  # noqa: N802
        if block.startswith("0x") and self.replaced_in is not None:
            return hex(self.nonce - (int(block, 16) < self.replaced_in))
        if block not in {"latest", "pending", "finalized"}:
            raise NodeSays("missing trie node")
        if block == "latest" and self.lags:
            self.lags -= 1
            return hex(self.nonce - 1)
        if block == "latest" and self.settles:
            self.settles -= 1
            if not self.settles:
                before, self.nonce, self.waiting = self.nonce, self.nonce + self.waiting, 0
                self.allowances[ROUTER.lower()] = 10**18
                return hex(before)
        return hex(self.nonce + (self.waiting if block == "pending" else 0))

    def eth_maxPriorityFeePerGas(self) -> str:  # noqa: N802
        return hex(self.tip)

    def eth_getBlockByNumber(self, at: str, full: bool) -> dict[str, Any]:  # noqa: N802
        other = {"from": WALLET, "nonce": hex(self.nonce - 1), "hash": "0x" + "0e" * 32}
        other |= {"to": WALLET, "value": "0x0", "input": "0x"}
        held = [other] if at == hex(self.replaced_in or 0) else []
        return (
            {"transactions": held if full else [other["hash"] for other in held]}
            | {
                "number": hex(self.head),
                "hash": f"0x{self.head:064x}",
                "parentHash": f"0x{self.head - 1:064x}",
                "timestamp": hex(self.time),
                "gasLimit": hex(45_000_000),
                "gasUsed": hex(22_500_000),
                "baseFeePerGas": hex(self.base_fee),
                "miner": "0x" + "4b" * 20,
            }
            | ({"blockAccessListHash": "0x" + "ba" * 32} if self.is_amsterdam else {})
        )

    def eth_call(self, call: dict[str, str], block: str) -> str:
        if block.startswith("0x") and int(block, 16) < self.state_from:
            raise NodeSays("missing trie node", -32000)
        selector, words = call["data"][2:10], call["data"][10:]
        if selector == ALLOWANCE:
            return _word(self.allowances.get("0x" + words[88:], 0))
        if selector == SYMBOL:
            return "0x" + f"{32:064x}{4:064x}" + b"USDC".hex().ljust(64, "0")
        if selector == LATEST_ROUND_DATA:
            return self._price(call["to"])
        if selector == DECIMALS and call["to"] == WETH:
            return _word(18)
        if selector == DECIMALS:
            return "0x" if self.decimals is None else _word(self.decimals)
        return _word(self.balance)

    def _price(self, feed: str) -> str:
        usd = self.prices.get(feed)
        if usd is None:
            raise NodeSays("execution reverted")
        words = (1, usd * 10**8, 0, self.time - self.price_age, 1)
        return "0x" + "".join(f"{word % 2**256:064x}" for word in words)

    def eth_simulateV1(self, state: dict[str, Any], block: str) -> list[Any]:  # noqa: N802
        """Swap, then read the balances: `delivers` is what the swap brings, `takes` what it takes
        of the sell token, `trial_logs` what it logs.
        """
        self.trials.append((state, block))
        if self.delivers is None:
            raise NodeSays("the method eth_simulateV1 does not exist")
        first, second = state["blockStateCalls"]
        roots = [name for name in first["blockOverrides"] if "Root" in name]
        if roots and roots != [self.root_name]:
            raise NodeSays("Invalid params", -32602)
        assert len(first["calls"]) == 1
        is_batched = second["calls"][-1]["data"].startswith(_SUPPORTS_MODE)
        assert len(second["calls"]) - 2 * is_batched in (2, 7)
        swapped = {"status": "0x1", "returnData": "0x", "logs": self.trial_logs}
        swapped["gasUsed"] = hex(self.trial_gas)
        if self.trial_peak is not None:
            swapped["maxUsedGas"] = hex(self.trial_peak)
        lacks_gas = int(first["calls"][0]["gas"], 16) < self.trial_needs
        if (
            lacks_gas
            or self.trial_reverts
            or (self.lates and self.allowances.get(ROUTER.lower(), 0) < 10**6)
        ):
            says = {"message": self.trial_says}
            swapped = {"status": "0x0", "gasUsed": "0x1", "returnData": "0x", "error": says}
        gained = (-self.takes, self.delivers)
        held = [USED | {"returnData": _word(self.balance + gain)} for gain in gained]
        if len(second["calls"]) >= 7:
            held += self._probed(second)
        if is_batched:
            held += [USED | {"returnData": _word(each)} for each in (self.left, self.mode)]
        return [{"calls": [swapped]}, {"calls": held}]

    def _probed(self, second: dict[str, Any]) -> list[dict[str, Any]]:
        """Transfer by the payer, whose code must be overridden, and then by the wallet."""
        to_payer, from_payer, *_ = second["calls"][2:]
        assert list(second["stateOverrides"]) == [WALLET, from_payer["to"]]
        assert to_payer["data"][34:74] == from_payer["to"][2:].lower()
        sent = int(to_payer["data"][-64:], 16)
        back = self.balance + (self.delivers or 0) - sent * self.payer_fee_bps // 10_000
        arrived = sent - sent * self.transfer_fee_bps // 10_000
        done, paid = USED, USED | {"status": hex(not self.payer_fails)}
        told = [done | {"returnData": _word(number)} for number in (back, arrived)]
        return [done, paid, told[0], done, told[1]][: self.probe_steps]

    def eth_estimateGas(self, call: dict[str, str], _block: str = "latest") -> str:  # noqa: N802
        if call["data"][2:10] != APPROVE:
            if self.refusal:
                raise NodeSays(self.refusal)
            return hex(self.gas)
        router, amount = _approval(call["data"])
        self._check(router, amount)
        return hex(48_000)

    def _check(self, router: str, amount: int) -> None:
        if self.resets_first and amount and self.allowances.get(router):
            raise NodeSays("execution reverted")

    def eth_sendRawTransaction(self, raw: str) -> str:  # noqa: N802
        if raw in self.known:
            raise NodeSays("already known")
        fields = rlp.decode(bytes.fromhex(raw[4:]))
        if self.lates:
            if int.from_bytes(fields[1]) < self.nonce:
                raise NodeSays("nonce too low", -32000)
            self.behind = replace(self, allowances=dict(self.allowances), receipts={}, trials=[])
            self.asked.clear()
            self.head += 1
        self.sent.append(fields)
        router, amount = _approval("0x" + fields[7].hex())
        self._check(router, amount)
        self.allowances[router] = amount
        self.nonce += 1
        tx_hash = "0x" + keccak(hexstr=raw).hex()
        self.mine(tx_hash)
        if self.swallows:
            self.known.add(raw)
            raise Swallowed
        return tx_hash

    def mine(self, tx_hash: str) -> None:
        """Put a transaction into a block."""
        self.receipts[tx_hash] = {
            "transactionHash": tx_hash,
            "status": "0x0" if self.reverts else "0x1",
            "blockNumber": hex(self.head),
            "blockHash": f"0x{self.head:064x}",
            "gasUsed": hex(46_000),
            "effectiveGasPrice": hex(10**9),
            "logs": self.logs,
        }

    def eth_getTransactionByHash(self, tx_hash: str) -> dict[str, str] | None:  # noqa: N802
        if tx_hash == self.hides and self.receipts:
            raise NodeSays("missing trie node")
        return self.transactions.get(tx_hash)

    def eth_getTransactionReceipt(self, tx_hash: str) -> dict[str, Any] | None:  # noqa: N802
        if self.forgets:
            raise NodeSays("missing trie node")
        if self.holds > 0:
            self.holds -= 1
            return None
        receipt = self.receipts.get(tx_hash)
        self.head += receipt is not None  # a block comes until the next look
        return receipt


def _approval(data: str) -> tuple[str, int]:
    assert data[2:10] == APPROVE
    return "0x" + data[34:74], int(data[74:], 16)


def _word(value: int) -> str:
    return f"0x{value:064x}"
