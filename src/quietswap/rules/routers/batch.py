"""Approve and swap in one transaction of a wallet to itself: the batched form of a swap.

A wallet whose account is delegated (https://eips.ethereum.org/EIPS/eip-7702) calls itself by
`execute(bytes32 mode, bytes executionData)` of ERC-7821 (https://eips.ethereum.org/EIPS/eip-7821)
with exactly two calls: the exact approval of the sold amount, and the swap. With ETH there is a
third: before them a wrap of the sold amount, or after them an unwrap of the minimum. What the calls
do is proven by the router's row, as for a plain swap, and by the code of WETH9, which cannot
change. What else happens is up to the delegate, whose code runs as the wallet: so only delegates
are accepted whose code was read.

Service, wallet RPC and clients all read and write the form here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from quietswap.rules.tokens import erc20
from quietswap.rules.tokens.erc20 import address_word, approve, read_approve, word
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction

DELEGATION = bytes.fromhex("ef0100")
"""Prefix of the code of a wallet that delegates; the delegate's address follows (EIP-7702)."""
MODE = b"\x01" + bytes(31)
"""Single batch that reverts if any call does, without `opData` (ERC-7821)."""
SUPPORTS_MODE = bytes.fromhex("d03c7914") + MODE
"""Calldata of `supportsExecutionMode(MODE)`."""
FIRST_GAS = 80_000
"""What approval and batch may use beside the swap, in gas units, for the first simulation."""

_EXECUTE = bytes.fromhex("e9ae5c53")
_WORD = 32
_HEAD = 4 + 3 * _WORD
"""Bytes before `executionData`, whose first word is the offset of the calls and whose second is
their number."""

_Call = tuple[Address, int, bytes]
"""Target, value and calldata."""


@dataclass(frozen=True, slots=True)
class Delegate:
    """A delegate whose code was read: `source` says where, `proof` what `execute` with `MODE` does.

    The code makes exactly the given calls in their order, with their values, and reverts if one
    reverts; it makes them for the wallet itself without reading storage; it cannot be replaced.
    """

    name: str
    source: str
    proof: str


DELEGATES = {
    Address("0x000000009B1D0aF20D8C6d0A44e162d11F9b8f00"): Delegate(
        "Uniswap Calibur 1.0.0",
        "https://github.com/Uniswap/calibur commit 35d8091, src/Calibur.sol; the address is from"
        " its README",
        "a call by the wallet has the root key, whose settings are a constant: admin, no hook"
        " (KeyManagement.getKeySettings), so `_process` only makes the call; `_processBatch`"
        " reverts at the first that fails, because ModeDecoder compares the whole mode",
    ),
    Address("0x63c0c19a282a1B52b07dD5a65b58948A07DAE32B"): Delegate(
        "MetaMask EIP7702StatelessDeleGator 1.3.0",
        "https://github.com/MetaMask/delegation-framework tag v1.3.0,"
        " src/EIP7702/EIP7702DeleGatorCore.sol; the address is the CREATE2 address of the creation"
        " code in its broadcast for mainnet",
        "`onlyEntryPointOrSelf` admits the wallet; CALLTYPE_BATCH with EXECTYPE_DEFAULT runs"
        " ExecutionHelper._execute, which makes each call and reverts if it fails",
    ),
}
"""By address. A delegate is not a proxy, and code at an address cannot change (EIP-6780)."""


@dataclass(frozen=True, slots=True)
class SwapBatch:
    """`approve(router, amount)` of `token`, then the call of `router` with `data`; both value 0.

    `wrapped` is what `deposit()` of WETH wraps before them, of the wallet's own ETH: 0, or exactly
    the amount, and the token is WETH. `unwrapped` is what `withdraw` of WETH unwraps after them, or
    0. Both in wei; only one of them is set.
    """

    token: Address
    router: Address
    amount: int
    data: bytes
    wrapped: int = 0
    unwrapped: int = 0

    @property
    def conversion(self) -> WrapOperation | None:
        """Return what is done with ETH in the same transaction; None for a batch without it."""
        if self.wrapped:
            return WrapOperation.WRAP
        return WrapOperation.UNWRAP if self.unwrapped else None

    def calldata(self) -> bytes:
        """Return the canonical calldata of `execute`."""
        calls: list[_Call] = [
            (self.token, 0, approve(self.router, self.amount)),
            (self.router, 0, self.data),
        ]
        if self.wrapped:
            calls.insert(0, _weth_call(WrapOperation.WRAP, self.wrapped))
        if self.unwrapped:
            calls.append(_weth_call(WrapOperation.UNWRAP, self.unwrapped))
        return _execute(calls)


def swap_batch(
    token: Address,
    router: Address,
    amount: int,
    data: bytes,
    *,
    min_buy_amount: int,
    conversion: WrapOperation | None,
) -> SwapBatch:
    """Return the batch of a swap: with ETH it wraps what is sold, or unwraps the minimum.

    What arrives above the minimum is not known when it is signed, and stays WETH.
    """
    return SwapBatch(
        token,
        router,
        amount,
        data,
        wrapped=amount if conversion is WrapOperation.WRAP else 0,
        unwrapped=min_buy_amount if conversion is WrapOperation.UNWRAP else 0,
    )


def read(params: UnsignedTransaction, wallet: Address) -> SwapBatch | None:
    """Return the batch; None unless the transaction of `wallet` is exactly one, byte for byte.

    Any other mode, `opData`, a further call, another order, a value other than that of the wrap, a
    wrap of another amount, another WETH, an approval of another spender than the called router and
    every other encoding of the same calls give other bytes.
    """
    data = params.data
    if params.to != wallet or params.value or not data.startswith(_EXECUTE + MODE):
        return None
    batch = _batch_of(_calls_in(data))
    return batch if batch is not None and batch.calldata() == data else None


def _batch_of(calls: Sequence[_Call]) -> SwapBatch | None:
    """Return the batch that these calls may be; what it does not hold is not compared here."""
    wrapped = unwrapped = 0
    if len(calls) == _WITH_ETH and calls[0][1]:
        wrapped, calls = calls[0][1], calls[1:]
    elif len(calls) == _WITH_ETH:
        unwrapped, calls = int.from_bytes(calls[-1][2][4 : 4 + _WORD]), calls[:-1]
    if len(calls) != _WITHOUT_ETH:
        return None
    (token, _, approval), (router, _, swap) = calls
    spend = read_approve(approval)
    if spend is None or (wrapped and (token, spend[1]) != (WETH, wrapped)):
        return None
    return SwapBatch(token, router, spend[1], swap, wrapped, unwrapped)


def plain_swap(params: UnsignedTransaction, wallet: Address) -> UnsignedTransaction:
    """Return the transaction with the swap of a batch as its call; any other as it is."""
    batch = read(params, wallet)
    return params if batch is None else replace(params, to=batch.router, data=batch.data)


def delegate_of(code: bytes) -> Address | None:
    """Return the address that the code of a wallet delegates to; None for any other code."""
    if len(code) != len(DELEGATION) + 20 or not code.startswith(DELEGATION):
        return None
    return addresses.from_bytes(code[len(DELEGATION) :])


def refused_code(code: bytes) -> str | None:
    """Return why a wallet with this code cannot use the batched form; None if it can."""
    delegate = delegate_of(code)
    if delegate is None:
        return "the wallet is not delegated (EIP-7702), so it cannot call itself"
    if delegate not in DELEGATES:
        return (
            f"the wallet's code is that of {delegate}, which was not read: it might do anything"
            " beside the two calls"
        )
    return None


def refused_allowance(allowance: int | None) -> str | None:
    """Return why a router with this allowance cannot be approved in a batch; None if it can be.

    Some tokens (USDT) refuse to change an allowance that is not 0, and any token may be upgraded to
    do so. `allowance` in smallest units; None if the token does not tell it.
    """
    if allowance is None:
        return "the token does not tell the router's allowance, which must be 0"
    if allowance:
        return (
            f"the router's allowance is {allowance}, and some tokens refuse to change one that is"
            " not 0: use the plain form, after an approval if it does not suffice"
        )
    return None


LATER = (
    "an earlier transaction of the wallet is not mined yet, and could change its code or allowance"
)
"""Why the batched form has the next nonce: a delegation changes only with it (EIP-7702)."""


_WITHOUT_ETH, _WITH_ETH = 2, 3
"""The calls of a batch, and of one with a wrap or unwrap."""


def _weth_call(operation: WrapOperation, amount: int) -> _Call:
    return WETH, erc20.value_of(operation, amount), erc20.calldata(operation, amount)


def _execute(calls: Sequence[_Call]) -> bytes:
    each = [
        address_word(to) + word(value) + word(3 * _WORD) + _octets(data)
        for to, value, data in calls
    ]
    starts = [len(calls) * _WORD + sum(map(len, each[:at])) for at in range(len(each))]
    encoded = word(_WORD) + word(len(calls)) + b"".join([*map(word, starts), *each])
    return _EXECUTE + MODE + word(2 * _WORD) + _octets(encoded)


def _calls_in(data: bytes) -> list[_Call]:
    """Return the calls where the canonical encoding has them; at most three, and none if they are
    cut off.
    """
    number = _uint(data, _HEAD + _WORD)
    if number > _WITH_ETH:
        return []
    at, calls = _HEAD + (2 + number) * _WORD, []
    for _ in range(number):
        length, start = _uint(data, at + 3 * _WORD), at + 4 * _WORD
        if start + length > len(data):
            return []
        to = addresses.from_bytes(data[at + 12 : at + _WORD])
        calls.append((to, _uint(data, at + _WORD), data[start : start + length]))
        at = start + length + -length % _WORD
    return calls


def _octets(data: bytes) -> bytes:
    return word(len(data)) + data + bytes(-len(data) % _WORD)


def _uint(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + _WORD])
