"""JSON-RPC results as domain values. An error or a malformed result raises NodeUnavailable."""

from quietswap.adapters.rpc import erc20, ethereum_types, multicall
from quietswap.adapters.rpc.ethereum_types import BlockWire, HeaderWire
from quietswap.adapters.rpc.wire import Result, RpcCall, RpcErrorObject, value, value_or_none
from quietswap.domain.address import Address
from quietswap.ports.chain import Block, Head, NodeUnavailable, Receipt


def count(wallet: Address, block: str) -> RpcCall:
    """Return the call that reads the transaction count of a wallet at `block`."""
    return RpcCall("eth_getTransactionCount", (wallet, block))


def octets(result: Result) -> bytes:
    """Return bytes."""
    return ethereum_types.octets(value(result, str))


def quantity(result: Result) -> int:
    """Return a number."""
    return ethereum_types.quantity(value(result, str))


def amounts(result: Result, count: int) -> list[int]:
    """Return the numbers that `count` views of one multicall returned."""
    answers = [erc20.read_uint(answer) for answer in multicall.answers(result, count)]
    known = [amount for amount in answers if amount is not None]
    if len(known) != count:
        raise NodeUnavailable("the token does not tell a balance or an allowance")
    return known


def head(result: Result) -> Head:
    """Return a block header."""
    return ethereum_types.head(value(result, HeaderWire))


def block(result: Result) -> Block | None:
    """Return a block with its transactions; None if the node does not know it."""
    wire = value_or_none(result, BlockWire)
    return None if wire is None else ethereum_types.block(wire)


def receipt(result: Result, tx_hash: str) -> Receipt | None:
    """Return a complete receipt; None if there is none."""
    if isinstance(result, RpcErrorObject):
        raise NodeUnavailable(f"the node answered error {result.code}: {result.message}")
    return ethereum_types.receipt(result, tx_hash)


def known(number: int | None) -> int:
    """Return a number that every node can tell. Raises NodeUnavailable."""
    if number is None:
        raise NodeUnavailable("the node does not tell the block or the ETH balance")
    return number
