"""Batches of approval and swap, as a wallet's library encodes them, and hundreds of wrong ones.

The same wrong ones are refused by the API, by the wallet RPC and by the Python client.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eth_abi import encode

from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx.address import Address, from_any_case
from quietswap.sandbox.contracts.addresses import CALIBUR

SELECTOR = bytes.fromhex("e9ae5c53")
MODE = b"\x01" + bytes(31)
MOST = 2**256 - 1
STRANGER = from_any_case("0x" + "5e" * 20)
NOBODY = "0x" + "00" * 20
_FLIPS = 240
_SEED = 7702

Call = tuple[str, int, bytes]
"""Target, value and calldata."""


def delegated(delegate: str = CALIBUR) -> str:
    """Return the code of a wallet that delegates, as 0x text."""
    return "0xef0100" + delegate[2:].lower()


def approve(spender: str, amount: int) -> bytes:
    """Return the calldata of an approval."""
    return bytes.fromhex("095ea7b3") + encode(["address", "uint256"], [spender, amount])


def deposit(amount: int, weth: str = WETH) -> Call:
    """Return the call that wraps wei of the wallet."""
    return weth, amount, bytes.fromhex("d0e30db0")


def withdraw(amount: int, weth: str = WETH) -> Call:
    """Return the call that unwraps wei of WETH."""
    return weth, 0, bytes.fromhex("2e1a7d4d") + _word(amount)


def execute(calls: Sequence[Call], mode: bytes = MODE, op_data: bytes | None = None) -> bytes:
    """Return the calldata of ERC-7821's `execute`."""
    kinds, values = ["(address,uint256,bytes)[]"], [list(calls)]
    if op_data is not None:
        kinds, values = [*kinds, "bytes"], [*values, op_data]  # type: ignore[list-item]
    return SELECTOR + encode(["bytes32", "bytes"], [mode, encode(kinds, values)])


@dataclass(frozen=True)
class Batch:
    """The parts of a batch, in smallest units, and its transaction's target and value.

    `wrapped` and `unwrapped` are wei of WETH before and after the swap; 0 for none.
    """

    wallet: Address
    token: str
    router: str
    amount: int
    swap: bytes
    wrapped: int = 0
    unwrapped: int = 0

    @property
    def calls(self) -> tuple[Call, Call]:
        """Return approval and swap."""
        return (
            (self.token, 0, approve(self.router, self.amount)),
            (self.router, 0, self.swap),
        )

    def around(self, calls: Sequence[Call]) -> list[Call]:
        """Return the calls with the wrap before them, or the unwrap after them."""
        before = [deposit(self.wrapped)] if self.wrapped else []
        return [*before, *calls, *([withdraw(self.unwrapped)] if self.unwrapped else [])]

    def execute(
        self, calls: Sequence[Call], mode: bytes = MODE, op_data: bytes | None = None
    ) -> bytes:
        """Return the calldata of other calls in the place of approval and swap."""
        return execute(self.around(calls), mode, op_data)

    @property
    def data(self) -> bytes:
        """Return the calldata."""
        return self.execute(self.calls)


@dataclass(frozen=True)
class Wrong:
    """A transaction that is not the batch: what is wrong, and its three fields."""

    name: str
    to: str
    data: bytes
    value: int = 0

    @property
    def fields(self) -> dict[str, Any]:
        """Return what differs from the batch in the transaction to sign."""
        return {"to": self.to, "data": "0x" + self.data.hex(), "value": self.value}


def wrong_batches(good: Batch) -> list[Wrong]:
    """Return more than 300 transactions, each different from the batch; the same in every run."""
    found = [Wrong(name, good.wallet, data) for name, data in _calldata(good)]
    found += [
        Wrong("with a value", good.wallet, good.data, 1),
        Wrong("to the delegate itself", CALIBUR, good.data),
        Wrong("to the router", good.router, good.data),
        Wrong("to a stranger", STRANGER, good.data),
    ]
    return found


def _calldata(good: Batch) -> Iterator[tuple[str, bytes]]:
    yield from _modes(good)
    yield from _call_lists(good)
    yield from _approvals(good)
    yield from _conversions(good)
    yield from _encodings(good)
    chance = random.Random(_SEED)
    for number in range(_FLIPS):
        at, bit = chance.randrange(len(good.data)), 1 << chance.randrange(8)
        flipped = bytearray(good.data)
        flipped[at] ^= bit
        yield f"flip {number}: bit {bit} of byte {at}", bytes(flipped)


def _modes(good: Batch) -> Iterator[tuple[str, bytes]]:
    named = {
        "goes on after a failure": "0101",
        "single call": "0000",
        "delegatecall": "ff00",
        "with opData": "01000000000078210001",
        "batch of batches": "01000000000078210002",
    }
    for name, prefix in named.items():
        yield name, good.execute(good.calls, bytes.fromhex(prefix).ljust(32, b"\0"))
    for at in range(32):
        mode = bytearray(MODE)
        mode[at] ^= 0x02
        yield f"byte {at} of the mode", good.execute(good.calls, bytes(mode))
    yield "opData in the plain mode", good.execute(good.calls, op_data=b"")
    yield "opData of a signature", good.execute(good.calls, op_data=b"\x01" * 65)


def _call_lists(good: Batch) -> Iterator[tuple[str, bytes]]:
    first, second = good.calls
    thirds: dict[str, Call] = {
        "pays a stranger": (
            good.token,
            0,
            bytes.fromhex("a9059cbb") + encode(["address", "uint256"], [STRANGER, 1]),
        ),
        "approves a stranger": (good.token, 0, approve(STRANGER, MOST)),
        "approves more": (good.token, 0, approve(good.router, MOST)),
        "resets": (good.token, 0, approve(good.router, 0)),
        "sends ETH": (STRANGER, 1, b""),
        "is empty": (NOBODY, 0, b""),
        "calls itself": (good.wallet, 0, execute([(STRANGER, 1, b"")])),
        "swaps again": second,
    }
    for name, third in thirds.items():
        for place in range(3):
            calls = [first, second]
            calls.insert(place, third)
            yield f"a third call {name}, at {place}", good.execute(calls)
    yield "another order", good.execute([second, first])
    yield "the approval alone", good.execute([first])
    yield "the swap alone", good.execute([second])
    yield "no call", good.execute([])
    yield "two approvals", good.execute([first, first])
    yield "two swaps", good.execute([second, second])
    for name, value in {"1 wei": 1, "1 ETH": 10**18}.items():
        yield f"{name} with the approval", good.execute([(first[0], value, first[2]), second])
        yield f"{name} with the swap", good.execute([first, (second[0], value, second[2])])
    for name, to in {"stranger": STRANGER, "nobody": NOBODY, "wallet": good.wallet}.items():
        yield f"the approval calls the {name}", good.execute([(to, 0, first[2]), second])
        yield f"the swap calls the {name}", good.execute([first, (to, 0, second[2])])
    for name, data in {
        "shorter": second[2][:-1], "longer": second[2] + b"\0", "empty": b"", "other": b"\1\2\3\4",
    }.items():  # fmt: skip
        yield f"the swap's calldata is {name}", good.execute([first, (second[0], 0, data)])


def _conversions(good: Batch) -> Iterator[tuple[str, bytes]]:
    """Wraps and unwraps that are more, less, of another WETH, or at another place."""
    first, second = good.calls
    good_places = {"wraps": ("first", good.wrapped), "unwraps": ("last", good.unwrapped)}
    for name, amount, call in _ether_calls(good):
        orders = {
            "first": [call, first, second],
            "between": [first, call, second],
            "last": [first, second, call],
        }
        for place, calls in orders.items():
            if good_places.get(name) != (place, amount):
                yield f"{name} {amount} {place}", execute(calls)
            if good.wrapped or good.unwrapped:
                yield f"also {name} {amount} {place}", good.execute(calls)
    if good.wrapped or good.unwrapped:
        yield "without the conversion", execute(good.calls)


def _ether_calls(good: Batch) -> Iterator[tuple[str, int, Call]]:
    each = {good.wrapped, good.unwrapped, good.amount} - {0}
    for amount in sorted({1, MOST} | each | {amount + by for amount in each for by in (-1, 1)}):
        yield "wraps", amount, deposit(amount)
        yield "unwraps", amount, withdraw(amount)
        yield "wraps a stranger's WETH", amount, deposit(amount, STRANGER)
        yield "unwraps a stranger's WETH", amount, withdraw(amount, STRANGER)
        yield "sends ETH to a stranger", amount, (STRANGER, amount, b"")
        yield "sends ETH to WETH", amount, (WETH, amount, b"")
        yield "unwraps with a value", amount, (WETH, 1, withdraw(amount)[2])
        yield "unwraps in longer calldata", amount, (WETH, 0, withdraw(amount)[2] + bytes(32))


def _approvals(good: Batch) -> Iterator[tuple[str, bytes]]:
    _, second = good.calls
    for name, spender in {
        "a stranger": STRANGER, "nobody": NOBODY, "the wallet": good.wallet,
        "the token": good.token, "the delegate": CALIBUR,
    }.items():  # fmt: skip
        yield (
            f"approves {name}",
            good.execute([(good.token, 0, approve(spender, good.amount)), second]),
        )
    for amount in (0, 1, good.amount - 1, good.amount + 1, 2 * good.amount, MOST, MOST // 2):
        yield (
            f"approves {amount}",
            good.execute([(good.token, 0, approve(good.router, amount)), second]),
        )
    plain = approve(good.router, good.amount)
    others = {
        "increaseAllowance": bytes.fromhex("39509351") + plain[4:],
        "transfer": bytes.fromhex("a9059cbb") + plain[4:],
        "without an amount": plain[:36],
        "with more after it": plain + b"\0",
        "with dirty upper bits": plain[:4] + b"\1" + plain[5:],
    }
    for name, data in others.items():
        yield f"an approval as {name}", good.execute([(good.token, 0, data), second])
    for each in (replace(good, token=STRANGER), replace(good, router=STRANGER)):
        yield f"of {each.token} by {each.router}", each.data


def _encodings(good: Batch) -> Iterator[tuple[str, bytes]]:
    """The same calls in other bytes: compilers and delegates read them as the same."""
    data = good.data
    yield "a byte after it", data + b"\0"
    yield "a word after it", data + bytes(32)
    yield "the last byte missing", data[:-1]
    yield "the last word missing", data[:-32]
    yield "nothing but the selector", data[:4]
    yield "nothing but selector and mode", data[:36]
    yield "no calldata", b""
    inner = data[100:]
    moved = encode(["bytes32"], [MODE]) + _word(96) + _word(0) + _word(len(inner)) + inner
    yield "executionData further behind", SELECTOR + moved
    calls = _word(64) + _word(0) + inner[32:]
    yield "the calls further behind", SELECTOR + encode(["bytes32", "bytes"], [MODE, calls])
    padded = bytearray(data)
    if len(good.swap) % 32:
        padded[-1] = 1
        yield "dirty padding", bytes(padded)


def _word(number: int) -> bytes:
    return number.to_bytes(32)
