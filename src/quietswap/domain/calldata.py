"""What the routers' calldata itself enforces: minimum, recipient, tokens, amount.

Layouts are those of the vendors' mainnet routers, by four-byte selector. Hostile calldata (short,
offsets beyond its end) is an error, never a crash and never a pass.
"""

from collections.abc import Callable
from dataclasses import dataclass

from quietswap.domain.address import Address, from_bytes

_WORD = 32
_ADDRESS_MAX = 2**160


class HostileCalldata(ValueError):
    """The calldata has a known selector but not its layout."""


@dataclass(frozen=True, slots=True)
class CalldataTerms:
    """Amounts in smallest units; `recipient` None means the sender, `sell_token` and so on None
    where the layout does not say."""

    min_buy_amount: int
    recipient: Address | None
    sell_token: Address | None
    buy_token: Address | None
    sell_amount: int | None


class _Words:
    """Calldata behind the selector as 32-byte words, counted from `base`."""

    def __init__(self, data: bytes, base: int = 0) -> None:
        self._data = data
        self._base = base

    def uint(self, index: int) -> int:
        start = self._base + index * _WORD
        word = self._data[start : start + _WORD]
        if len(word) != _WORD:
            raise HostileCalldata("it ends before its fields do")
        return int.from_bytes(word)

    def address(self, index: int) -> Address:
        value = self.uint(index)
        if value >= _ADDRESS_MAX:
            raise HostileCalldata("an address field holds more than an address")
        return from_bytes(value.to_bytes(20))

    def follow(self, index: int) -> "_Words":
        """Return the words at the offset that word `index` holds, relative to this base."""
        offset = self.uint(index)
        if offset >= len(self._data):
            raise HostileCalldata("an offset points beyond its end")
        return _Words(self._data, self._base + offset)

    def raw(self, index: int) -> bytes:
        """Return the byte string at the offset that word `index` holds."""
        tail = self.follow(index)
        length = tail.uint(0)
        start = tail._base + _WORD
        if start + length > len(self._data):
            raise HostileCalldata("a byte string is longer than what is there")
        return self._data[start : start + length]


def decode(data: bytes) -> CalldataTerms | None:
    """Return what the calldata enforces; None for a selector we do not know.

    Raises HostileCalldata.
    """
    reader = _LAYOUTS.get(data[:4])
    return reader(_Words(data[4:])) if reader else None


def _kyber(words: _Words) -> CalldataTerms:
    """swap((callTarget, approveTarget, targetData, desc, clientData)) of MetaAggregationRouterV2:
    desc = src, dst, srcReceivers, srcAmounts, feeReceivers, feeAmounts, dstReceiver, amount,
    min, flags, permit (https://docs.kyberswap.com/kyberswap-solutions/kyberswap-aggregator)."""
    desc = words.follow(0).follow(3)
    return CalldataTerms(
        min_buy_amount=desc.uint(8),
        recipient=desc.address(6),
        sell_token=desc.address(0),
        buy_token=desc.address(1),
        sell_amount=desc.uint(7),
    )


def _velora(words: _Words) -> CalldataTerms:
    """swapExactAmountIn of Augustus v6.2: word 7 is the beneficiary, 0 for the sender
    (https://docs.velora.xyz)."""
    beneficiary = words.address(7)
    return CalldataTerms(
        min_buy_amount=words.uint(4),
        recipient=None if int(beneficiary, 16) == 0 else beneficiary,
        sell_token=words.address(1),
        buy_token=words.address(2),
        sell_amount=words.uint(3),
    )


def _sushi(words: _Words) -> CalldataTerms:
    """snwap(tokenIn, amountIn, recipient, tokenOut, amountOutMin, executor, executorData) of
    RedSnwapper (https://docs.sushi.com/api)."""
    return CalldataTerms(
        min_buy_amount=words.uint(4),
        recipient=words.address(2),
        sell_token=words.address(0),
        buy_token=words.address(3),
        sell_amount=words.uint(1),
    )


def _openocean(words: _Words) -> CalldataTerms:
    """swap(caller, desc, calls) of ExchangeV2: desc = src, dst, srcReceiver, dstReceiver, amount,
    min, guaranteed, flags, referrer, permit (https://apis.openocean.finance)."""
    desc = words.follow(1)
    return CalldataTerms(
        min_buy_amount=desc.uint(5),
        recipient=desc.address(3),
        sell_token=desc.address(0),
        buy_token=desc.address(1),
        sell_amount=desc.uint(4),
    )


def _zeroex(words: _Words) -> CalldataTerms:
    """AllowanceHolder.exec(operator, token, amount, target, data) around
    Settler.execute((recipient, buyToken, minAmountOut), actions, id) (https://0x.org/docs)."""
    inner = words.raw(4)
    if inner[:4] != _SETTLER_EXECUTE:
        raise HostileCalldata("AllowanceHolder calls something else than Settler.execute")
    settler = _Words(inner[4:])
    return CalldataTerms(
        min_buy_amount=settler.uint(2),
        recipient=settler.address(0),
        sell_token=words.address(1),
        buy_token=settler.address(1),
        sell_amount=words.uint(2),
    )


def _oneinch(words: _Words) -> CalldataTerms:
    """swap(executor, desc, data) of AggregationRouterV6: desc = src, dst, srcReceiver,
    dstReceiver, amount, min, flags, inline (https://portal.1inch.dev)."""
    return CalldataTerms(
        min_buy_amount=words.uint(6),
        recipient=words.address(4),
        sell_token=words.address(1),
        buy_token=words.address(2),
        sell_amount=words.uint(5),
    )


_SETTLER_EXECUTE = bytes.fromhex("1fff991f")
_LAYOUTS: dict[bytes, Callable[[_Words], CalldataTerms]] = {
    bytes.fromhex("e21fd0e9"): _kyber,
    bytes.fromhex("e3ead59e"): _velora,
    bytes.fromhex("5f3bd1c8"): _sushi,
    bytes.fromhex("90411a32"): _openocean,
    bytes.fromhex("2213bc0b"): _zeroex,
    bytes.fromhex("07ed2379"): _oneinch,
}
