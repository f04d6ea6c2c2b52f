"""A node with one token, one wallet and instant blocks: it reads what is really signed."""

from dataclasses import dataclass, field
from typing import Any

import rlp
from eth_account import Account
from eth_utils import keccak

from tests.client.fake_outside import NodeSays, Swallowed

ACCOUNT = Account.from_key("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
"""The first well-known development key; its address is `tests.api.inside.WALLET`."""

APPROVE, ALLOWANCE = "095ea7b3", "dd62ed3e"
BALANCE_OF, DECIMALS, SYMBOL = "70a08231", "313ce567", "95d89b41"


@dataclass
class FakeChain:
    """`allowances` by router (lower case); `resets_first` behaves as USDT; `holds` back receipts
    of the next so many polls; `swallows` takes a transaction and never answers.
    """

    allowances: dict[str, int] = field(default_factory=dict)
    resets_first: bool = False
    reverts: bool = False
    holds: int = 0
    nonce: int = 7
    mined: int = 0
    chain_id: int = 1
    decimals: int | None = 6
    balance: int = 10**24
    delivers: int | None = None
    forgets: bool = False
    swallows: bool = False
    known: set[str] = field(default_factory=set)
    sent: list[Any] = field(default_factory=list)
    receipts: dict[str, dict[str, Any]] = field(default_factory=dict)
    logs: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, method: str, params: list[Any]) -> Any:
        return getattr(self, method)(*params)

    def eth_chainId(self) -> str:  # noqa: N802
        return hex(self.chain_id)

    def eth_getBalance(self, _wallet: str, _block: str) -> str:  # noqa: N802
        return hex(5 * 10**18)

    def eth_getTransactionCount(self, _wallet: str, _block: str) -> str:  # noqa: N802
        return hex(self.nonce)

    def eth_maxPriorityFeePerGas(self) -> str:  # noqa: N802
        return hex(10**9)

    def eth_getBlockByNumber(self, _number: str, _full: bool) -> dict[str, str]:  # noqa: N802
        return {"baseFeePerGas": hex(3 * 10**9)}

    def eth_call(self, call: dict[str, str], _block: str) -> str:
        selector, words = call["data"][2:10], call["data"][10:]
        if selector == ALLOWANCE:
            return _word(self.allowances.get("0x" + words[88:], 0))
        if selector == SYMBOL:
            return "0x" + f"{32:064x}{4:064x}" + b"USDC".hex().ljust(64, "0")
        if selector == DECIMALS:
            return "0x" if self.decimals is None else _word(self.decimals)
        return _word(self.balance)

    def eth_simulateV1(self, state: dict[str, Any], _block: str) -> list[Any]:  # noqa: N802
        """Read the balance, swap, read it again: `delivers` is what the swap brings."""
        if self.delivers is None:
            raise NodeSays("the method eth_simulateV1 does not exist")
        assert len(state["blockStateCalls"][0]["calls"]) == 3
        swapped = {"status": "0x0" if self.reverts else "0x1", "returnData": "0x"}
        before, after = (_word(self.balance + gain) for gain in (0, self.delivers))
        held = [{"status": "0x1", "returnData": each} for each in (before, after)]
        return [{"calls": [held[0], swapped, held[1]]}]

    def eth_estimateGas(self, call: dict[str, str]) -> str:  # noqa: N802
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
            "blockNumber": "0x10",
            "gasUsed": hex(46_000),
            "effectiveGasPrice": hex(10**9),
            "logs": self.logs,
        }

    def eth_getTransactionReceipt(self, tx_hash: str) -> dict[str, Any] | None:  # noqa: N802
        if self.forgets:
            raise NodeSays("missing trie node")
        if self.holds > 0:
            self.holds -= 1
            return None
        return self.receipts.get(tx_hash)


def _approval(data: str) -> tuple[str, int]:
    assert data[2:10] == APPROVE
    return "0x" + data[34:74], int(data[74:], 16)


def _word(value: int) -> str:
    return f"0x{value:064x}"
