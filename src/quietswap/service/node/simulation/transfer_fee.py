"""The fee that a token takes on a transfer, measured by simulated transfers.

The simulation gives a random wallet and a random contract some of the token, and moves a part of
it from the wallet to the contract, from the contract to the wallet, and from the wallet to an
address without code. A token may take a fee only at its own pools: then these transfers show
none.
"""

import secrets
from contextlib import suppress

from cachetools import TLRUCache

from quietswap.rules.amounts import BPS
from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import NodeCall, RpcErrorObject
from quietswap.rules.quotes.transfer_fee_measurement import TransferFeeProbe, forwarder, lost
from quietswap.rules.tokens import erc20
from quietswap.rules.tokens.token import TransferFee
from quietswap.rules.trial import codec, next_block
from quietswap.rules.trial.storage_slots import MappingSlot
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import SingleFlight
from quietswap.service.node.rpc import NodeReads
from quietswap.service.node.simulation.overrides import SimulationUnsupported, StorageLayouts

_MEASURED_TTL_S, _UNKNOWN_TTL_S = 3600.0, 60.0
_TOKENS_CACHED = 10_000
_LEAST_PART = 1_000_000
_MOST_WHOLE_DECIMALS = 27
_SPENT_PARTS = 3
_UNKNOWN = TransferFee()


class TransferFeeMeter:
    """Measures each token at most once an hour, and once a minute where that is impossible."""

    def __init__(self, clock: Clock, *, below: next_block.RandBelow = secrets.randbelow) -> None:
        self._below = below
        self._layouts = StorageLayouts(clock)
        self._fees: TLRUCache[Address, TransferFee] = TLRUCache(
            _TOKENS_CACHED,
            lambda _, fee, now: now + (_UNKNOWN_TTL_S if fee == _UNKNOWN else _MEASURED_TTL_S),
            timer=clock.monotonic,
        )
        self._in_flight: SingleFlight[Address, TransferFee] = SingleFlight()

    def known(self, token: Address) -> TransferFee | None:
        return self._fees.get(token)

    async def __call__(self, token: Address, decimals: int, nodes: NodeReads) -> TransferFee:
        """Return the fee of one token. Where the node cannot simulate, the fee is unknown."""
        fee = self._fees.get(token)
        if fee is not None:
            return fee
        return await self._in_flight(token, lambda: self._measured(token, decimals, nodes))

    async def _measured(self, token: Address, decimals: int, nodes: NodeReads) -> TransferFee:
        fee = _UNKNOWN
        with suppress(NodeUnavailable, SimulationUnsupported):
            layout = await self._layouts.of(token, nodes)
            if layout.balance is not None:
                fee = await self._simulated(token, decimals, layout.balance, nodes)
        self._fees[token] = fee
        return fee

    async def _simulated(
        self, token: Address, decimals: int, place: MappingSlot, nodes: NodeReads
    ) -> TransferFee:
        # Nobody has used them, so an empty balance slot is overridden.
        wallet, payer, collector = (next_block.unused_address(self._below) for _ in range(3))
        part = max(10 ** min(decimals, _MOST_WHOLE_DECIMALS), _LEAST_PART)
        part = next_block.plausible_amount(part, self._below)
        balance = next_block.plausible_amount(_SPENT_PARTS * part, self._below)
        probe = TransferFeeProbe(
            addresses.from_bytes(wallet), addresses.from_bytes(payer), collector, token, part
        )
        call = _call(probe, place, balance)
        [result] = await nodes.batch([call])
        if isinstance(result, RpcErrorObject):
            return _UNKNOWN
        before, *steps = call.value(result)
        if before.number != balance:
            return _UNKNOWN  # the token does not read its balance from this slot
        sent, paid, back, moved, collected = steps
        if any(not step.succeeded or step.number == 0 for step in (sent, moved)):
            return TransferFee(reverts=True)
        if not paid.succeeded or back.number is None or collected.number is None:
            return TransferFee(reverts=True)
        gone = lost(part, balance, back.number, collected.number)
        return TransferFee(bps=-(-gone * BPS // part))


def _call(
    probe: TransferFeeProbe, place: MappingSlot, held: int
) -> NodeCall[list[codec.SimulatedCall]]:
    slots = (place.balance(holder) for holder in (probe.wallet, probe.payer))
    overrides: dict[str, object] = {
        probe.token: {"stateDiff": {codec.hex_word(slot): codec.hex_word(held) for slot in slots}},
        probe.payer: {"code": "0x" + forwarder(probe.token).hex()},
    }
    steps = ((probe.token, erc20.balance_of(probe.wallet)), *probe.steps())
    calls = [
        {"from": probe.wallet, "to": to, "data": "0x" + data.hex(), "gas": hex(codec.VIEW_GAS)}
        for to, data in steps
    ]
    return codec.simulation_call(overrides, calls)
