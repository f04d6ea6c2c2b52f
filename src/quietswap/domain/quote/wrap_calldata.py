"""Calldata to wrap ETH into canonical WETH9 and back, one to one."""

from quietswap.domain.quote.quote import WrapOperation

_DEPOSIT = bytes.fromhex("d0e30db0")
_WITHDRAW = bytes.fromhex("2e1a7d4d")

TYPICAL_GAS = {WrapOperation.WRAP: 46_000, WrapOperation.UNWRAP: 36_100}
"""Gas units if the node cannot estimate: a first wrap uses 45,041; an unwrap needs a limit of
36,068, although it uses 30,465 after its refund."""


def calldata(operation: WrapOperation, amount: int) -> bytes:
    """Return `deposit()` or `withdraw(uint256)` for `amount` wei."""
    if operation is WrapOperation.WRAP:
        return _DEPOSIT
    return _WITHDRAW + amount.to_bytes(32)


def value_of(operation: WrapOperation, amount: int) -> int:
    """Return the value in wei: the amount for a wrap, 0 for an unwrap."""
    return amount if operation is WrapOperation.WRAP else 0
