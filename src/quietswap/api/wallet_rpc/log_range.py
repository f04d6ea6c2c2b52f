"""The number of blocks that an eth_getLogs may read."""

from collections.abc import Mapping
from typing import Any

from quietswap.api.wallet_rpc.errors import bad_parameters

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
