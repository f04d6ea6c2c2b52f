"""Gas limits and fee caps of issued transactions. Integers only: wei and gas units."""

from quietswap.rules.tx.signed import GAS_LIMIT_CAP

SWAP_FEE_MULTIPLE = 2
"""Covers five full blocks in a row (EIP-1559 moves the base fee by at most 1/8 a block)."""
WRAP_FEE_MULTIPLE = 3
"""Covers nine full blocks: a wrap quote lives for five minutes."""
_LEAST_MULTIPLE_PERCENT = 125
_ABSOLUTE_HEADROOM = 10**8
"""0.1 gwei, the least headroom: a multiple of a tiny base fee is too little."""

PRIORITY_FEE = 0
"""Wei per gas. The interface prescribes no tip: a private relay does not need one."""

WRAP_GAS_FLOOR = 50_000
"""A full unwrap uses 30,465 gas but needs a limit of 36,068: refunds come last."""
NEW_SLOT_GAS = 88_000
"""What a storage slot that was zero costs more from Amsterdam on: 97,920 of state and 12,100 for
access and write (https://eips.ethereum.org/EIPS/eip-8037, eip-8038), instead of 22,100."""
MAINNET_FORKS = (1_764_798_551, 1_765_290_071, 1_767_747_671)
"""Unix times of dated forks: Osaka, and its blob parameters. Amsterdam has no date yet: a release
or `node.fork_times` adds it, because not every node names the next one."""
FORK_MARGIN_S = 600
"""Seconds before a fork in which no quote is issued: a wrap quote lives five minutes, and most of
what is signed is mined within five more."""
_UNSIMULATED_BASE, _UNSIMULATED_PER_HOP = 150_000, 100_000
_FIRST_LIMIT_CAP = 3_000_000
_RAISE = 4
_MODEST_LIMIT = 500_000
"""A limit below this is not lowered to save locked ETH: a second simulation costs time."""
TRANSACTION_GAS = 21_000
_BASE_GAS, _RECIPIENT_GAS, _VALUE_GAS = 12_000, 3_000, 6_000
"""The parts of the same from Amsterdam on (https://eips.ethereum.org/EIPS/eip-2780)."""


def next_base_fee(base_fee: int, gas_used: int, gas_limit: int) -> int:
    """Return the base fee of the following block (https://eips.ethereum.org/EIPS/eip-1559)."""
    target = gas_limit // 2
    if target in (0, gas_used):
        return base_fee
    if gas_used > target:
        return base_fee + max(base_fee * (gas_used - target) // target // 8, 1)
    return base_fee - base_fee * (target - gas_used) // target // 8


def gas_limit_for(used: int, floor: int = TRANSACTION_GAS) -> int:
    """Return the limit for a call that used `used` gas at its peak: a quarter more, capped.

    A call forwards at most 63/64 of its gas (EIP-150), so a route of nesting depth d needs
    (64/63)**d of its use; a quarter covers fourteen levels. It also covers a node that reports only
    the gas after refunds, which are at most a fifth of the peak (EIP-3529).
    """
    return min(max(used + -(-used // 4), floor), GAS_LIMIT_CAP)


def intrinsic_gas(
    data: bytes, *, is_amsterdam: bool, has_value: bool = False, to_self: bool = False
) -> int:
    """Return the least gas limit that a block accepts for a call, with the floor of its calldata.

    10 gas for each zero byte and 40 for each other one (EIP-7623); 64 for each byte from Amsterdam
    on (EIP-7976).
    """
    if not is_amsterdam:
        return TRANSACTION_GAS + 10 * (4 * len(data) - 3 * data.count(0))
    other = 0 if to_self else _RECIPIENT_GAS + _VALUE_GAS * has_value
    return _BASE_GAS + other + 64 * len(data)


def unsimulated_gas(claimed: int | None, hops: int) -> int:
    """Return the gas of a route without simulation: the larger of claim and hop estimate."""
    return max(claimed or 0, _UNSIMULATED_BASE + _UNSIMULATED_PER_HOP * max(hops - 1, 0))


def first_gas_limit(claimed: int | None, hops: int) -> int:
    """Return the limit of a route's first simulation: half more than its source's figure.

    At most 3 million, because a source may claim anything: a route that needs more is run again.
    """
    return min(unsimulated_gas(claimed, hops) * 3 // 2, _FIRST_LIMIT_CAP)


def other_gas_limit(
    limit: int, used: int, *, succeeded: bool, is_amsterdam: bool = False
) -> int | None:
    """Return the limit of the next simulation; None if `limit` is the one to issue.

    The next limit follows from `used` if `limit` leaves less than a quarter above it, or locks more
    than twice the needed ETH. A call that failed with nearly all of its gas used may have lacked
    gas: it gets four times as much, and then what it needs. Not more at once, because the node may
    have to execute all of it. From Amsterdam on the gas of new storage is given back where a call
    fails (EIP-8037), so what it used tells nothing: any call that failed with a modest limit gets
    more.
    """
    if succeeded:
        needed = gas_limit_for(used)
        return needed if limit < needed or is_excessive(limit, used) else None
    may_have_lacked = 10 * used >= 9 * limit or (is_amsterdam and limit <= _FIRST_LIMIT_CAP)
    if not may_have_lacked or limit >= GAS_LIMIT_CAP:
        return None
    return min(_RAISE * limit, GAS_LIMIT_CAP)


def is_excessive(limit: int, used: int) -> bool:
    """Return whether a limit is far above what a call needs that used `used` gas at its peak.

    It must not be issued: a contract can read it, use little gas in the simulation, and all of it
    when it is mined.
    """
    return limit > max(2 * gas_limit_for(used), _MODEST_LIMIT)


def usual_fee_cap(next_fee: int, multiple: int) -> int:
    """Return the fee cap of a transaction for which the wallet has enough ETH."""
    return max(next_fee * multiple, next_fee + _ABSOLUTE_HEADROOM)


def max_fee_per_gas(
    next_fee: int, multiple: int, *, gas_limit: int, balance: int, value: int = 0
) -> int:
    """Return the fee cap: `multiple` x the next base fee, less if the wallet cannot lock it.

    A node refuses a transaction unless the wallet covers gas_limit x cap + value, so the cap is
    reduced to no less than 1.25 x. If the wallet does not cover that either, the submission fails
    with INSUFFICIENT_BALANCE and the exact figures.
    """
    usual_cap = usual_fee_cap(next_fee, multiple)
    least = -(-next_fee * _LEAST_MULTIPLE_PERCENT // 100)
    affordable = max(balance - value, 0) // gas_limit
    return max(min(usual_cap, affordable), least, 1)
