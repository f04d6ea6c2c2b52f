"""The trial of a swap: what a node is asked, by the service and by the Python client.

The first block contains only the swap: the fields of the transaction that is signed, and of the
next block. The nonce is not set: a contract cannot read it, and a node refuses one that follows a
pending transaction. In the block after it the wallet reads what the swap left (`SwapTrial.views`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from quietswap.rules.chain.rpc_wire import Result, RpcCall
from quietswap.rules.quotes.transfer_fee_measurement import STEPS, TransferFeeProbe, forwarder
from quietswap.rules.routers import batch
from quietswap.rules.routers.method import Measure
from quietswap.rules.safety.methods import measure
from quietswap.rules.tokens import erc20
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.trial import codec, next_block
from quietswap.rules.tx.address import Address

StateOverrides = Mapping[Address, Mapping[str, object]]
"""The fields of each account that a simulated block overrides."""

MOST_VIEWS = 20
"""The wallet can pay for so many views of one block."""


def measures_itself(target: Address, data: bytes) -> bool:
    """Return whether the router compares its own balance with the minimum; True if unknown.

    It then does not detect a fee that the buy token takes on the last transfer, to the wallet.
    """
    return measure(target, data) is not Measure.RECIPIENT


@dataclass(frozen=True, slots=True)
class SwapTrial:
    """One swap: what it may take, and what it must deliver, in smallest units.

    `router` is the contract that may move the sell token. `payer` is the one that pays the wallet:
    set where a fee on transfer must be measured; None where the router detects one. `is_batched`:
    approval and swap are one transaction of the wallet to itself. `conversion`: it also wraps what
    is sold, or unwraps the minimum; the other part of what arrives stays WETH, whose code takes no
    fee on transfer.
    """

    wallet: Address
    router: Address
    sell_token: Address
    sell_amount: int
    buy_token: Address
    min_buy_amount: int
    payer: Address | None = None
    is_batched: bool = False
    conversion: WrapOperation | None = None

    @property
    def wrapped(self) -> int:
        """Return the wei of ETH that the transaction wraps before the swap."""
        return self.sell_amount if self.conversion is WrapOperation.WRAP else 0

    @property
    def unwrapped(self) -> int:
        """Return the wei of WETH that the transaction unwraps after the swap."""
        return self.min_buy_amount if self.conversion is WrapOperation.UNWRAP else 0

    def probe(self, below: next_block.RandBelow) -> TransferFeeProbe | None:
        """Return the measurement of the buy token's fee on transfer; None where there is none."""
        if self.payer is None:
            return None
        collector = next_block.unused_address(below)
        part = self.min_buy_amount
        return TransferFeeProbe(self.wallet, self.payer, collector, self.buy_token, part)

    def views(self, probe: TransferFeeProbe | None) -> list[tuple[Address, bytes]]:
        """Return target and calldata of each call after the swap, in the order that is judged."""
        balance_call = erc20.balance_of(self.wallet)
        views = [(self.sell_token, balance_call), (self.buy_token, balance_call)]
        if probe is not None:
            views += probe.steps()
        if self.is_batched:
            allowance_call = erc20.allowance(self.wallet, self.router)
            views += [(self.sell_token, allowance_call), (self.wallet, batch.SUPPORTS_MODE)]
        return views


class RanTrial(NamedTuple):
    """The results of the swap and of the views after it; `block` is its number and parent."""

    block: str
    swap: codec.SimulatedCall
    views: Sequence[codec.SimulatedCall]


def merged(*parts: StateOverrides) -> dict[Address, dict[str, object]]:
    """Return all overrides by address. Anybody may ask for a wallet that is also a token, a pool
    or a contract of the system: it then has the fields, and the slots, of several parts."""
    overrides: dict[Address, dict[str, object]] = {}
    for part in parts:
        for address, fields in part.items():
            before = overrides.get(address, {})
            slots: list[Any] = [
                each["stateDiff"] for each in (before, fields) if "stateDiff" in each
            ]
            overrides[address] = before | dict(fields)
            if len(slots) == 2:
                overrides[address]["stateDiff"] = slots[0] | slots[1]
    return overrides


def plausible_balance(wallet: Address, needed: int, below: next_block.RandBelow) -> StateOverrides:
    """Return the override of an ETH balance that is at least `needed` wei."""
    return {wallet: {"balance": hex(next_block.plausible_wei(needed, below))}}


def reader(
    wallet: Address,
    block: next_block.NextBlock,
    below: next_block.RandBelow,
    *,
    views: int = MOST_VIEWS,
) -> StateOverrides:
    """Return the override of an ETH balance that pays for `views` views of one block."""
    return plausible_balance(wallet, views * codec.VIEW_GAS * block.view_fee, below)


def view(
    block: next_block.NextBlock, wallet: Address, to: Address, data: bytes
) -> dict[str, object]:
    """Return the call by which the wallet reads something."""
    return codec.call_object(wallet, to, data, gas=codec.VIEW_GAS, max_fee=block.view_fee)


def views_block(
    block: next_block.NextBlock, calls: Sequence[object], state: StateOverrides, *, later: int
) -> dict[str, object]:
    """Return a block of views: `later` 0 instead of the swap's block, 1 after it."""
    overrides = block.overrides(later)
    return {"blockOverrides": overrides, "stateOverrides": state, "calls": calls}


def after_swap(
    trial: SwapTrial,
    block: next_block.NextBlock,
    reads: StateOverrides,
    below: next_block.RandBelow,
) -> dict[str, object]:
    """Return the block after the swap; `reads` pays for its views.

    The payer has the code of `forwarder` there, for the measurement of a fee on transfer.
    """
    probe = trial.probe(below)
    calls = [view(block, trial.wallet, to, data) for to, data in trial.views(probe)]
    code: StateOverrides = {}
    if probe is not None:
        code = {probe.payer: {"code": "0x" + forwarder(probe.token).hex()}}
    return views_block(block, calls, merged(reads, code), later=1)


def trial_call(
    block: next_block.NextBlock,
    swap: Mapping[str, object],
    after: object,
    state: StateOverrides,
    overrides: object = None,
) -> RpcCall:
    """Return the simulation of `swap`, a call object, and of the block `after` it.

    `state` overrides what the wallet lacks. `overrides` is `block.overrides()`, if it is encoded.
    """
    first = {
        "blockOverrides": overrides or block.overrides(),
        "stateOverrides": merged(state, block.history()),
        "calls": [swap],
    }
    return codec.blocks_call([first, after], block.tag, validation=block.exact, transfers=True)


def views_call(block: next_block.NextBlock, only: object) -> RpcCall:
    """Return the simulation of one block of views."""
    return codec.blocks_call([only], block.tag, validation=block.exact)


def read_trial(result: Result | bytes, trial: SwapTrial) -> RanTrial:
    """Return the results of `trial_call`. Raises NodeUnavailable and MalformedResult."""
    views = 2 + (0 if trial.payer is None else STEPS) + 2 * trial.is_batched
    (block, (swap,)), (_, after) = codec.read_blocks(result, 1, views)
    return RanTrial(block, swap, after)
