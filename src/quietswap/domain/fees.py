"""Gas limits, fee caps and nonces of issued transactions. Integers only: wei and gas units."""

from collections.abc import Collection

from quietswap.domain.transaction import GAS_LIMIT_CAP

SWAP_FEE_MULTIPLE = 2
"""Covers five full blocks in a row (EIP-1559 moves the base fee by at most 1/8 a block)."""
WRAP_FEE_MULTIPLE = 3
"""Covers nine full blocks: a wrap quote lives for five minutes."""
_LEAST_MULTIPLE_PERCENT = 125
_ABSOLUTE_HEADROOM = 10**8
"""0.1 gwei: with a base fee far below 1 gwei a multiple alone is too little headroom in wei."""

WRAP_GAS_FLOOR = 50_000
"""Unwrapping everything uses 30,465 gas but needs a limit of 36,068, because refunds come last."""
_UNSIMULATED_BASE, _UNSIMULATED_PER_HOP = 150_000, 100_000
_TRANSACTION_GAS = 21_000


def next_base_fee(base_fee: int, gas_used: int, gas_limit: int) -> int:
    """Return the base fee of the following block (https://eips.ethereum.org/EIPS/eip-1559)."""
    target = gas_limit // 2
    if target in (0, gas_used):
        return base_fee
    if gas_used > target:
        return base_fee + max(base_fee * (gas_used - target) // target // 8, 1)
    return base_fee - base_fee * (target - gas_used) // target // 8


def gas_limit_for(used: int, floor: int = _TRANSACTION_GAS) -> int:
    """Return the limit for a call that used `used` gas at its peak: a quarter more, capped.

    A call passes on at most 63/64 of its gas (EIP-150), so a route nested d calls deep needs
    (64/63)**d of what it uses; a quarter covers fourteen levels. It also covers a node that tells
    only the gas after refunds, which are at most a fifth of the peak (EIP-3529).
    """
    return min(max(used + -(-used // 4), floor), GAS_LIMIT_CAP)


def unsimulated_gas(claimed: int | None, hops: int) -> int:
    """Return the estimate of a route nobody could simulate: the larger of claim and hop count."""
    return max(claimed or 0, _UNSIMULATED_BASE + _UNSIMULATED_PER_HOP * max(hops - 1, 0))


def max_fee_per_gas(
    next_fee: int, multiple: int, *, gas_limit: int, balance: int, value: int = 0
) -> int:
    """Return the fee cap: `multiple` x the next base fee, less when the wallet cannot lock it.

    A node refuses a transaction unless gas_limit x cap + value is covered, so the cap comes down
    towards 1.25 x. Where even that is not covered it stays at 1.25 x: the submission then says
    INSUFFICIENT_BALANCE with the exact figures.
    """
    wanted = max(next_fee * multiple, next_fee + _ABSOLUTE_HEADROOM)
    least = -(-next_fee * _LEAST_MULTIPLE_PERCENT // 100)
    affordable = max(balance - value, 0) // gas_limit
    return max(min(wanted, affordable), least, 1)


def next_nonce(latest: int, pending: int, live: Collection[int]) -> int:
    """Return the nonce to hand out: past the chain, the public mempool and our own live orders.

    Only orders without a gap count: a transaction behind a gap could not be mined. Never read
    from the relay, whose count lies after it dropped something.
    """
    nonce = max(latest, pending)
    while nonce in live:
        nonce += 1
    return nonce
