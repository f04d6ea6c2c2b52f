"""Approve and swap in one transaction of a wallet to itself: the batched form of a swap.

A wallet whose account is delegated (https://eips.ethereum.org/EIPS/eip-7702) calls itself by
`execute(bytes32 mode, bytes executionData)` of ERC-7821 (https://eips.ethereum.org/EIPS/eip-7821)
with exactly two calls: the exact approval of the sold amount, and the swap. What the calls do is
proven by the router's row, as for a plain swap. What else happens is up to the delegate, whose code
runs as the wallet: so only delegates are accepted whose code was read.

Service, wallet RPC and clients all read and write the form here.
"""

from dataclasses import dataclass, replace

from quietswap.rules.tokens.erc20 import address_word, approve, word
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
"""Bytes before `executionData`."""
_TOKEN_AT, _AMOUNT_AT = _HEAD + 4 * _WORD, _HEAD + 9 * _WORD + 4
_ROUTER_AT = _HEAD + 11 * _WORD
_LENGTH_AT, _DATA_AT = _ROUTER_AT + 3 * _WORD, _ROUTER_AT + 4 * _WORD


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
    """`approve(router, amount)` of `token`, then the call of `router` with `data`; both value 0."""

    token: Address
    router: Address
    amount: int
    data: bytes

    def calldata(self) -> bytes:
        """Return the canonical calldata of `execute`."""
        router = address_word(self.router)
        approval = approve(self.router, self.amount)
        first = address_word(self.token) + word(0) + word(3 * _WORD) + _octets(approval)
        second = router + word(0) + word(3 * _WORD) + _octets(self.data)
        offsets = word(2 * _WORD) + word(2 * _WORD + len(first))
        calls = word(_WORD) + word(2) + offsets + first + second
        return _EXECUTE + MODE + word(2 * _WORD) + _octets(calls)


def read(params: UnsignedTransaction, wallet: Address) -> SwapBatch | None:
    """Return the batch; None unless the transaction of `wallet` is exactly one, byte for byte.

    Any other mode, `opData`, a third call, another order, a value, an approval of another spender
    than the called router and every other encoding of the same calls give other bytes.
    """
    data = params.data
    if params.to != wallet or params.value or not data.startswith(_EXECUTE + MODE):
        return None
    if len(data) < _DATA_AT:
        return None
    length = _uint(data, _LENGTH_AT)
    batch = SwapBatch(
        addresses.from_bytes(data[_TOKEN_AT + 12 : _TOKEN_AT + _WORD]),
        addresses.from_bytes(data[_ROUTER_AT + 12 : _ROUTER_AT + _WORD]),
        _uint(data, _AMOUNT_AT),
        data[_DATA_AT : _DATA_AT + min(length, len(data))],
    )
    return batch if batch.calldata() == data else None


def unwrapped(params: UnsignedTransaction, wallet: Address) -> UnsignedTransaction:
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


def _octets(data: bytes) -> bytes:
    return word(len(data)) + data + bytes(-len(data) % _WORD)


def _uint(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + _WORD])
