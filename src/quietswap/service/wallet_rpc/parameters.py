"""The methods that a wallet may read from the node, and the check of their parameters.

The node gets what the wallet sent, so the check refuses and never changes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quietswap.rules.chain import rpc_codes


class RpcError(Exception):
    """The error of one call; `data` is a JSON value or None."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def bad_parameters(reason: str) -> RpcError:
    """Return the error of parameters that a method does not take; `reason` names the parameter."""
    return RpcError(rpc_codes.INVALID_PARAMS, f"invalid parameters: {reason}")


def service_failed(request_id: str) -> RpcError:
    """Return the error of an unexpected failure, whose cause is in the log under the request id."""
    data = {"code": "INTERNAL_SERVER_ERROR", "details": {"requestId": request_id}}
    return RpcError(rpc_codes.INTERNAL_ERROR, "the service failed; the cause is in its log", data)


MOST_GAS = 50_000_000
"""Gas of one eth_call; geth's own default (--rpc.gascap)."""
MOST_DATA_BYTES = 131_072
"""Calldata of one eth_call: what the network accepts in a transaction."""
MOST_FEE_BLOCKS, MOST_PERCENTILES = 1024, 100
MANY_FEE_BLOCKS = 100
"""A fee history of more is one of the heavy reads."""
MOST_OVERRIDES = 64
MOST_TOPICS, MOST_CHOICES = 4, 64
"""Positions of a log filter, and addresses or topics to choose from at one of them."""

_TAGS = frozenset(("latest", "pending", "earliest", "safe", "finalized"))
_QUANTITY = r"0x[0-9a-fA-F]{1,64}"
_BLOCK_NUMBER = r"0x[0-9a-fA-F]{1,16}"
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*", re.ASCII)

Check = Callable[[Any, str], None]
"""Raises RpcError unless the value of the named parameter is right."""


def _matches(pattern: str, wanted: str) -> Check:
    compiled = re.compile(pattern)

    def check(value: Any, name: str) -> None:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise bad_parameters(f"{name} must be {wanted}")

    return check


_address = _matches(r"0x[0-9a-fA-F]{40}", "an address: 0x and 40 hexadecimal digits")
_hash = _matches(r"0x[0-9a-fA-F]{64}", "a hash: 0x and 64 hexadecimal digits")
_quantity = _matches(_QUANTITY, "a number: 0x and 1 to 64 hexadecimal digits")
_block_number = _matches(_BLOCK_NUMBER, "a block number in hex")
_block_or_tag = _matches(_BLOCK_NUMBER, f"a block number in hex or {', '.join(sorted(_TAGS))}")


def _boolean(value: Any, name: str) -> None:
    if not isinstance(value, bool):
        raise bad_parameters(f"{name} must be true or false")


def _data(value: Any, name: str) -> None:
    if not isinstance(value, str):
        raise bad_parameters(f"{name} must be a string: 0x and hexadecimal digits")
    if len(value) > 2 + 2 * MOST_DATA_BYTES:
        raise bad_parameters(f"{name} has more than {MOST_DATA_BYTES} bytes")
    if not _DATA.fullmatch(value):
        raise bad_parameters(f"{name} must be 0x and an even number of hexadecimal digits")


def _transaction(value: Any, name: str) -> None:
    """Text in hexadecimal. Whatever it says beyond that is judged as a transaction."""
    if not isinstance(value, str) or len(value) <= 2 + 2 * MOST_DATA_BYTES:
        _data(value, name)


def _tag(value: Any, name: str) -> None:
    if isinstance(value, str) and value in _TAGS:
        return
    _block_or_tag(value, name)


def _block(value: Any, name: str) -> None:
    """A tag, a number, or an object of EIP-1898; null is the node's default."""
    if value is None:
        return
    if not isinstance(value, dict):
        _tag(value, name)
        return
    rules = {"blockHash": _hash, "blockNumber": _block_number, "requireCanonical": _boolean}
    _members(value, rules, name, closed=True)
    if ("blockHash" in value) == ("blockNumber" in value):
        raise bad_parameters(f"{name} needs either blockHash or blockNumber")


def _members(
    value: Mapping[str, Any], rules: Mapping[str, Check], name: str, *, closed: bool = False
) -> None:
    for member, found in value.items():
        rule = rules.get(member)
        if rule is None and closed:
            raise bad_parameters(f"{name} has members other than {', '.join(rules)}")
        spelling = next((known for known in rules if known.casefold() == member.casefold()), None)
        if rule is None and spelling:
            # geth reads names in any case: such a member would escape its rule
            raise bad_parameters(f"{name}.{spelling} is written in another case")
        if rule is not None and found is not None:
            rule(found, f"{name}.{member}")


def _gas(value: Any, name: str) -> None:
    _quantity(value, name)
    if int(value, 16) > MOST_GAS:
        raise bad_parameters(f"{name} is more than {MOST_GAS}")


def _access_list(value: Any, name: str) -> None:
    if not isinstance(value, list) or len(value) > MOST_CHOICES:
        raise bad_parameters(f"{name} must be an array of at most {MOST_CHOICES} entries")


CALL_MEMBERS: Mapping[str, Check] = {
    "from": _address,
    "to": _address,
    "data": _data,
    "input": _data,
    "gas": _gas,
    "value": _quantity,
    "nonce": _quantity,
    "gasPrice": _quantity,
    "maxFeePerGas": _quantity,
    "maxPriorityFeePerGas": _quantity,
    "accessList": _access_list,
}


def _call(value: Any, name: str) -> None:
    if not isinstance(value, dict):
        raise bad_parameters(f"{name} must be an object")
    _members(value, CALL_MEMBERS, name)


def _overrides(value: Any, name: str) -> None:
    if value is None:
        return
    if not isinstance(value, dict) or len(value) > MOST_OVERRIDES:
        raise bad_parameters(f"{name} must be an object of at most {MOST_OVERRIDES} addresses")
    for address, account in value.items():
        _address(address, f"{name}: a member")
        if not isinstance(account, dict):
            raise bad_parameters(f"{name}: an account must be an object")


def _fee_blocks(value: Any, name: str) -> None:
    count = value
    if isinstance(value, str) and re.fullmatch(_QUANTITY, value):
        count = int(value, 16)
    if type(count) is not int or not 1 <= count <= MOST_FEE_BLOCKS:
        raise bad_parameters(f"{name} must be a number from 1 to {MOST_FEE_BLOCKS}")


def _percentiles(value: Any, name: str) -> None:
    if value is None:
        return
    if not isinstance(value, list) or len(value) > MOST_PERCENTILES:
        raise bad_parameters(f"{name} must be an array of at most {MOST_PERCENTILES} numbers")
    if not all(type(one) in (int, float) and 0 <= one <= 100 for one in value):
        raise bad_parameters(f"{name} must hold numbers from 0 to 100")


def _one_or_many(check: Check) -> Check:
    def rule(value: Any, name: str) -> None:
        if not isinstance(value, list):
            check(value, name)
            return
        if len(value) > MOST_CHOICES:
            raise bad_parameters(f"{name} has more than {MOST_CHOICES} values")
        for one in value:
            check(one, name)

    return rule


def _topics(value: Any, name: str) -> None:
    if not isinstance(value, list) or len(value) > MOST_TOPICS:
        raise bad_parameters(f"{name} must be an array of at most {MOST_TOPICS} entries")
    for one in value:
        if one is not None:
            _one_or_many(_hash)(one, name)


_FILTER_MEMBERS: Mapping[str, Check] = {
    "fromBlock": _tag,
    "toBlock": _tag,
    "blockHash": _hash,
    "address": _one_or_many(_address),
    "topics": _topics,
}


def _filter(value: Any, name: str) -> None:
    if not isinstance(value, dict):
        raise bad_parameters(f"{name} must be an object")
    _members(value, _FILTER_MEMBERS, name, closed=True)
    if value.get("blockHash") and (value.get("fromBlock") or value.get("toBlock")):
        raise bad_parameters(f"{name} has blockHash and a range of blocks")


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a method, in order; the first `required` must be given."""

    checks: Sequence[tuple[str, Check]] = ()
    required: int = 0

    def check(self, given: Sequence[Any]) -> None:
        if not self.required <= len(given) <= len(self.checks):
            most = len(self.checks)
            counts = str(most) if self.required == most else f"{self.required} to {most}"
            names = ", ".join(name for name, _ in self.checks)
            rule = f"takes {counts} ({names})" if names else "takes none"
            raise bad_parameters(f"the method {rule}, not {len(given)}")
        for value, (name, check) in zip(given, self.checks, strict=False):
            check(value, name)


def _of(required: int, **checks: Check) -> Parameters:
    return Parameters(tuple(checks.items()), required)


NONE = Parameters()
RAW_TRANSACTION = _of(1, transaction=_transaction)
READS: Mapping[str, Parameters] = {
    "eth_syncing": NONE,
    "eth_blockNumber": NONE,
    "eth_gasPrice": NONE,
    "eth_maxPriorityFeePerGas": NONE,
    "eth_getBlockByNumber": _of(2, block=_tag, full=_boolean),
    "eth_getBlockByHash": _of(2, hash=_hash, full=_boolean),
    "eth_getBalance": _of(1, address=_address, block=_block),
    "eth_getCode": _of(1, address=_address, block=_block),
    "eth_getStorageAt": _of(2, address=_address, slot=_quantity, block=_block),
    "eth_call": _of(1, call=_call, block=_block, overrides=_overrides),
    "eth_estimateGas": _of(1, call=_call, block=_block, overrides=_overrides),
    "eth_feeHistory": _of(2, blocks=_fee_blocks, newest=_tag, percentiles=_percentiles),
    "eth_getLogs": _of(1, filter=_filter),
    "eth_getTransactionCount": _of(1, address=_address, block=_block),
    "eth_getTransactionByHash": _of(1, hash=_hash),
    "eth_getTransactionReceipt": _of(1, hash=_hash),
}
"""Methods that the node answers."""


def is_heavy(method: str, params: Sequence[Any]) -> bool:
    """Return whether the result may have megabytes; the parameters were checked before."""
    if method == "eth_feeHistory":
        return _count(params[0]) > MANY_FEE_BLOCKS
    return method == "eth_getLogs" or (method.startswith("eth_getBlockBy") and params[1])


def _count(value: str | int) -> int:
    return int(value, 16) if isinstance(value, str) else value


MOST_BLOCKS_UNFILTERED = 10
"""Blocks of a filter without an address: a block of mainnet has hundreds of logs."""
_HEADS = frozenset(("latest", "pending"))


def needs_head(log_filter: Mapping[str, Any]) -> bool:
    """Return whether the number of blocks follows only from the latest block."""
    if log_filter.get("blockHash"):
        return False
    first, last = _ends(log_filter)
    return first != last and (first in _HEADS) != (last in _HEADS)


def check_log_range(log_filter: Mapping[str, Any], head: int | None, most: int) -> None:
    """Raise RpcError unless the filter reads at most `most` blocks; `head` if `needs_head`."""
    if log_filter.get("blockHash"):
        return
    if not log_filter.get("address"):
        most = min(most, MOST_BLOCKS_UNFILTERED)
    first, last = _ends(log_filter)
    if first == last:
        return
    count = _number(last, head) - _number(first, head) + 1
    if count > most:
        where = "" if log_filter.get("address") else " without an address"
        raise bad_parameters(f"a filter{where} reads at most {most} blocks, not {count}")


def _ends(log_filter: Mapping[str, Any]) -> tuple[str, str]:
    """Return both ends of the range; nodes read a missing one as `latest`."""
    return log_filter.get("fromBlock") or "latest", log_filter.get("toBlock") or "latest"


def _number(end: str, head: int | None) -> int:
    if end in _HEADS:
        return 0 if head is None else head
    if end == "earliest":
        return 0
    if end.startswith("0x"):
        return int(end, 16)
    raise bad_parameters(f"a range of blocks cannot be counted from `{end}`: give a number")
