"""Tokens that the service has not seen: its caches have neither their metadata nor their price.

A fresh token is a proxy of the sandbox's DAI with a storage of its own, and so are its pools. All
addresses follow from its number, so that an answer recorded for DAI becomes one for the token by
replacing addresses.
"""

from collections.abc import Iterable, Sequence

from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts.abi import Call, set_storage
from quietswap.sandbox.contracts.pools import DAI, POOLS, Pool, SandboxToken
from quietswap.sandbox.network import SandboxNetwork

_DIGITS = 34
_TOKEN = "6b00f5"
"""Below USDC and WETH as DAI is, so that a pool has its tokens in the same order."""
_POOLS: Sequence[Pool] = tuple(pool for pool in POOLS if DAI in (pool.first, pool.second))
_PREFIXES = {DAI.address[2:].lower(): _TOKEN} | {
    pool.address[2:].lower(): f"9001{place:02x}" for place, pool in enumerate(_POOLS)
}
"""By address without 0x: the first digits of its counterpart; the rest is the token's number."""
_SLOTS = range(5, 13)
"""Of UniswapV2Pair: factory, token0, token1, reserves, two prices, kLast, unlocked."""
_AT_ONCE = 500


def token(number: int) -> Address:
    """Return the address of a fresh token."""
    return addresses.from_any_case(f"0x{_TOKEN}{number:0{_DIGITS}x}")


def origin(digits: str) -> tuple[str, str]:
    """Return the token whose answers serve a token, and the number's digits; "" if it is itself.

    Addresses are 40 digits in lower case.
    """
    if not digits.startswith(_TOKEN):
        return digits, ""
    return DAI.address[2:].lower(), digits[len(_TOKEN) :]


def renamed(body: bytes, number: str) -> bytes:
    """Return an answer recorded for DAI as one for the fresh token with these digits."""
    for old, prefix in _PREFIXES.items():
        body = body.replace(old.encode(), (prefix + number).encode())
    return body


def _counterpart(old: Address, number: int) -> Address:
    return addresses.from_any_case(f"0x{_PREFIXES[old[2:].lower()]}{number:0{_DIGITS}x}")


async def deploy(
    sandbox: SandboxNetwork, sellers: Iterable[tuple[int, Address, Sequence[Address]]]
) -> None:
    """Deploy fresh tokens with their pools: number, a wallet that holds it, and what it approved.

    Each pool has the reserves of the pool with DAI.
    """
    words = {pool.address: await _words(sandbox, pool) for pool in _POOLS}
    calls: list[Call] = []
    for number, owner, spenders in sellers:
        calls += _token_calls(number, owner, spenders)
        for pool in _POOLS:
            calls += _pool_calls(number, pool, words[pool.address])
        if len(calls) >= _AT_ONCE:
            await sandbox.chain.rpc.batch(calls)
            calls = []
    await sandbox.chain.rpc.batch(calls)
    await sandbox.chain.mine()


async def _words(sandbox: SandboxNetwork, pool: Pool) -> Sequence[int]:
    """Return the pool's storage words, then its balances of both tokens."""
    keys = [(pool.address, f"0x{slot:064x}") for slot in _SLOTS]
    keys += [(one.address, one.balance_key(pool.address)) for one in (pool.first, pool.second)]
    found = await sandbox.chain.rpc.batch(
        [("eth_getStorageAt", (at, key, "latest")) for at, key in keys]
    )
    return [int(word, 16) for word in found]


def _token_calls(number: int, owner: Address, spenders: Sequence[Address]) -> list[Call]:
    at = token(number)
    return [
        _proxy(at, DAI.address),
        set_storage(at, DAI.balance_key(owner), DAI.units(10**6)),
        *(set_storage(at, DAI.allowance_key(owner, one), 2**255) for one in spenders),
    ]


def _pool_calls(number: int, pool: Pool, words: Sequence[int]) -> list[Call]:
    at, sides = _counterpart(pool.address, number), (pool.first, pool.second)
    slots = dict(zip(_SLOTS, words, strict=False))
    slots |= {6: int(_side(pool.first, number), 16), 7: int(_side(pool.second, number), 16)}
    balances = zip(sides, words[len(_SLOTS) :], strict=True)
    return [
        _proxy(at, pool.address),
        *(set_storage(at, slot, word) for slot, word in slots.items()),
        *(set_storage(_side(s, number), s.balance_key(at), amount) for s, amount in balances),
    ]


def _side(one: SandboxToken, number: int) -> Address:
    return token(number) if one is DAI else one.address


def _proxy(at: Address, target: Address) -> Call:
    """Return the call that sets an ERC-1167 proxy (https://eips.ethereum.org/EIPS/eip-1167)."""
    code = f"0x363d3d373d3d3d363d73{target[2:]}5af43d82803e903d91602b57fd5bf3"
    return "anvil_setCode", (at, code)
