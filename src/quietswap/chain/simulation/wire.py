"""Simulations as calls of the service's node; see `quietswap.chain.simulation.codec`."""

from collections.abc import Mapping, Sequence

import msgspec

from quietswap.chain.address import Address
from quietswap.chain.chain import NodeUnavailable
from quietswap.chain.rpc_wire import MalformedResult, Result, RpcCall, RpcErrorObject
from quietswap.chain.simulation import codec
from quietswap.chain.simulation.codec import METHOD, MalformedSimulation, SimulatedCall
from quietswap.quoting.wallet_effects import EventLog


def simulation_call(
    overrides: Mapping[str, object], calls: Sequence[Mapping[str, object]]
) -> RpcCall:
    """Return a simulation on the latest block, without checks of fees and nonces."""
    block = {"stateOverrides": overrides, "calls": calls}
    return blocks_call([block], "latest", validation=False, transfers=False)


def blocks_call(
    blocks: Sequence[object], tag: str, *, validation: bool, transfers: bool
) -> RpcCall:
    """Return a simulation of consecutive `blocks`, as `codec.blocks_params`."""
    params = codec.blocks_params(blocks, tag, validation=validation, transfers=transfers)
    return RpcCall(METHOD, params)


def read_calls(result: Result, count: int) -> list[SimulatedCall]:
    """Return the results of `count` calls of one block. Raises NodeUnavailable."""
    return read_blocks(result, count)[0][1]


def read_blocks(result: Result, *counts: int) -> list[tuple[str, list[SimulatedCall]]]:
    """Return what `codec.read_blocks` returns. Raises NodeUnavailable."""
    if isinstance(result, RpcErrorObject):
        raise NodeUnavailable(f"the node answered error {result.code}: {result.message}")
    try:
        return codec.read_blocks(result, *counts)
    except MalformedSimulation as error:
        raise MalformedResult(str(error)) from error


def logs_about(wallet: Address, logs: Sequence[msgspec.Raw]) -> list[EventLog] | None:
    """Return what `codec.logs_about` returns. Raises NodeUnavailable."""
    try:
        return codec.logs_about(wallet, logs)
    except MalformedSimulation as error:
        raise MalformedResult(str(error)) from error
