"""Runs calldata on the chain as the wallet's transaction and measures all the wallet owns."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from quietswap.rules.tx.address import Address
from quietswap.sandbox.chain.local_chain import LocalChain, running_chain
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.abi import WALLETS, set_storage
from quietswap.sandbox.contracts.pools import ALL_TOKENS, BY_ADDRESS, WETH
from quietswap.sandbox.vendors.router_calldata import pays, script

WALLET = WALLETS[0].address
ETHER = Address("0x" + "0" * 40)
_APPROVAL = "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925"
_FOREVER = 2**255
_GAS = 5_000_000
_TOKENS = tuple(BY_ADDRESS)


@dataclass(frozen=True)
class Outcome:
    """The result of one transaction: `gained` by token, negative for a loss; ETH without gas."""

    succeeded: bool
    answer: bytes
    gained: Mapping[Address, int]
    approved: Sequence[Mapping[str, Any]]

    @property
    def lost(self) -> dict[Address, int]:
        """The losses as positive amounts."""
        return {token: -change for token, change in self.gained.items() if change < 0}


def breach(outcome: Outcome, sell: Address, amount: int, buy: Address, least: int) -> str | None:
    """Return a loss beyond these terms, or None."""
    if outcome.approved:
        return "the wallet approved somebody"
    if not outcome.succeeded:
        return f"a revert took {outcome.lost}" if outcome.lost else None
    for token, loss in outcome.lost.items():
        if token != sell:
            return f"it took {loss} of {token}"
        if loss > amount:
            return f"it took {loss} of {sell}, more than {amount}"
    gained = outcome.gained[buy]
    return f"it gave {gained} of {buy}, less than {least}" if gained < least else None


@dataclass(frozen=True)
class Trade:
    """One transaction of the wallet's; `lessons` are the puppet's calldata before it.

    `time` is its block's; None: the next one's.
    """

    to: Address
    data: bytes
    lessons: Sequence[bytes] = ()
    time: int | None = None


ROW_AMOUNT, ROW_LEAST = 1000 * 10**6, 3 * 10**17
"""The sold amount (USDC) and the minimum (WETH) of a row."""


@dataclass(frozen=True)
class Row:
    """A bound call with a hostile executor; `made` takes the thief's payment.

    `extra` is what it pays above the minimum, which flags or later actions return to it.
    """

    made: Callable[[int], bytes | Trade]
    extra: int = 0


def bought(to: Address, paid: int, answer: bytes = b"") -> bytes:
    """Return the thief's work in a row: it pays `paid` WETH."""
    return script([pays(WETH.address, to, paid)], answer)


async def tried(chain: LocalChain, trades: Sequence[Trade]) -> list[Outcome]:
    """Run each trade on the current state and revert it."""
    asked = [{"blockStateCalls": [_block(trade)], "validation": False} for trade in trades]
    answers = await chain.rpc.batch([("eth_simulateV1", (one, "latest")) for one in asked])
    return [_outcome(blocks[0]["calls"][-3:]) for blocks in answers]


def _block(trade: Trade) -> dict[str, Any]:
    look = {"from": WALLET, "to": addresses.MULTICALL, "data": "0x" + _LOOK.hex()}
    sent = {"from": WALLET, "to": trade.to, "data": "0x" + trade.data.hex(), "gas": hex(_GAS)}
    taught = [
        {"from": addresses.THIEF, "to": addresses.THIEF, "data": "0x" + lesson.hex()}
        for lesson in trade.lessons
    ]
    at = {} if trade.time is None else {"blockOverrides": {"time": hex(trade.time)}}
    return {"calls": [*taught, look, sent, look], **at}


_LOOK = abi.call(
    "aggregate3((address,bool,bytes)[])",
    [
        *((token, False, abi.call("balanceOf(address)", WALLET)) for token in _TOKENS),
        (addresses.MULTICALL, False, abi.call("getEthBalance(address)", WALLET)),
    ],
)


def _balances(call: Mapping[str, Any]) -> list[int]:
    assert call["status"] == "0x1", call
    data = bytes.fromhex(call["returnData"][2:])
    start = abi.word(data, 0) // 32 + 1
    at = [start + abi.word(data, start + i) // 32 for i in range(len(_TOKENS) + 1)]
    return [abi.word(data, one + 3) for one in at]


def _outcome(calls: Sequence[Mapping[str, Any]]) -> Outcome:
    before, trade, after = calls
    owned = (*_TOKENS, ETHER)
    pairs = zip(_balances(before), _balances(after), strict=True)
    owner = "0x" + WALLET[2:].lower().rjust(64, "0")
    approved = [
        log
        for log in trade.get("logs", [])
        if log["topics"][:1] == [_APPROVAL] and log["topics"][1] == owner
    ]
    return Outcome(
        trade["status"] == "0x1",
        bytes.fromhex(trade["returnData"][2:]),
        dict(zip(owned, (new - old for old, new in pairs), strict=True)),
        approved,
    )


@asynccontextmanager
async def approved_chain() -> AsyncIterator[LocalChain]:
    """Run a chain whose wallet has approved every router for all tokens without limit."""
    async with running_chain() as chain:
        await chain.rpc.batch(
            [
                set_storage(token.address, token.allowance_key(WALLET, router), _FOREVER)
                for token in ALL_TOKENS.values()
                for router in addresses.ROUTERS.values()
            ]
        )
        yield chain
