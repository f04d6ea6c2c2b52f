"""Wrapping ETH into canonical WETH9 and back, one to one."""

from quietswap.domain.quote import Operation

_DEPOSIT = bytes.fromhex("d0e30db0")
_WITHDRAW = bytes.fromhex("2e1a7d4d")

TYPICAL_GAS = {Operation.WRAP: 46_000, Operation.UNWRAP: 36_100}
"""Gas units where the node cannot estimate yet: a first wrap uses 45,041; an unwrap needs 36,068
as a limit, although it ends at 30,465 when its refund comes."""


def calldata(operation: Operation, amount: int) -> bytes:
    """Return `deposit()` or `withdraw(uint256)` for `amount` wei."""
    if operation is Operation.WRAP:
        return _DEPOSIT
    return _WITHDRAW + amount.to_bytes(32)


def value_of(operation: Operation, amount: int) -> int:
    """Return the wei sent along: the amount for a wrap, nothing for an unwrap."""
    return amount if operation is Operation.WRAP else 0
