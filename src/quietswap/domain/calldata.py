"""What the routers' calldata itself enforces: minimum, recipient, tokens, amount.

Layouts are those of the vendors' mainnet routers, by four-byte selector; each is one row of
`_LAYOUTS` but 0x's, where one call is wrapped into another. Hostile calldata (short, offsets beyond
its end, more than an address in an address) is an error, never a crash and never a pass.
"""

from dataclasses import dataclass, replace

from quietswap.domain.address import Address, from_bytes
from quietswap.domain.amounts import BPS

_WORD = 32
_ADDRESS_BITS = 160
_NOBODY = Address("0x" + "0" * 40)
_PARTIAL_FILL = 1
"""The lowest flag in the descriptions of KyberSwap, OpenOcean and 1inch: the router may sell less
than the amount, and then the minimum shrinks with it."""
_FEE_MASK = 0x3FFF
"""The partner's fee in bps within Augustus' `partnerAndFee`; it is taken after the minimum was
checked (https://github.com/VeloraDEX/augustus-v6, `AugustusFees`)."""


class HostileCalldata(ValueError):
    """The calldata has a known selector but not its layout."""


@dataclass(frozen=True, slots=True)
class CalldataTerms:
    """What a router enforces; amounts in smallest units.

    `recipient` None means the sender, `buy_token` None that the layout does not say. A call that
    is `partial` may sell less than `sell_amount` and deliver less than `min_buy_amount`.
    """

    min_buy_amount: int
    recipient: Address | None
    sell_token: Address
    buy_token: Address | None
    sell_amount: int
    partial: bool = False


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
        if value >> _ADDRESS_BITS:
            raise HostileCalldata("an address field holds more than an address")
        return from_bytes(value.to_bytes(20))

    def packed_address(self, index: int) -> Address:
        """Return the address in a word whose upper bits are the router's own flags."""
        return from_bytes((self.uint(index) % 2**_ADDRESS_BITS).to_bytes(20))

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


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where a router's method keeps its terms, in words.

    `within` are the words that hold the offsets to follow first. `recipient` None: the sender.
    `fee` and `flags` None: the method has none; `packed`: the sold token carries flags;
    `zero_is_sender`: a zero recipient means the sender.
    """

    sell: int
    amount: int
    minimum: int
    buy: int | None = None
    recipient: int | None = None
    within: tuple[int, ...] = ()
    flags: int | None = None
    fee: int | None = None
    packed: bool = False
    zero_is_sender: bool = True

    def read(self, words: _Words) -> CalldataTerms:
        gross_fee = 0 if self.fee is None else words.uint(self.fee) & _FEE_MASK
        for index in self.within:
            words = words.follow(index)
        minimum = words.uint(self.minimum)
        return CalldataTerms(
            min_buy_amount=minimum - minimum * min(gross_fee, BPS) // BPS,
            recipient=self._recipient(words),
            sell_token=words.packed_address(self.sell) if self.packed else words.address(self.sell),
            buy_token=None if self.buy is None else words.address(self.buy),
            sell_amount=words.uint(self.amount),
            partial=self.flags is not None and bool(words.uint(self.flags) & _PARTIAL_FILL),
        )

    def _recipient(self, words: _Words) -> Address | None:
        if self.recipient is None:
            return None
        found = words.address(self.recipient)
        return None if found == _NOBODY and self.zero_is_sender else found


def decode(data: bytes) -> CalldataTerms | None:
    """Return what the calldata enforces; None for a selector we do not know.

    Raises HostileCalldata.
    """
    selector, words = data[:4].hex(), _Words(data[4:])
    if selector == _ALLOWANCE_HOLDER_EXEC:
        return _zeroex(words)
    layout = _LAYOUTS.get(selector)
    return layout.read(words) if layout else None


def _zeroex(words: _Words) -> CalldataTerms:
    """AllowanceHolder.exec(operator, token, amount, target, data) around
    Settler.execute((recipient, buyToken, minAmountOut), actions, id).

    Unlike elsewhere a zero recipient is nobody: Settler then checks nothing. Which Settler is
    called is not pinned, since 0x replaces it every few weeks; what it does is for the simulation.
    https://github.com/0xProject/0x-settler
    """
    if words.address(0) != words.address(3):
        raise HostileCalldata("another contract than the one called may take the tokens")
    inner = words.raw(4)
    if inner[:4].hex() != _SETTLER_EXECUTE:
        raise HostileCalldata("AllowanceHolder calls something else than Settler.execute")
    settler = _Words(inner[4:])
    return CalldataTerms(
        min_buy_amount=settler.uint(2),
        recipient=settler.address(0),
        sell_token=words.address(1),
        buy_token=settler.address(1),
        sell_amount=words.uint(2),
    )


_ALLOWANCE_HOLDER_EXEC = "2213bc0b"
_SETTLER_EXECUTE = "1fff991f"

_KYBER = _Layout(within=(0, 3), sell=0, buy=1, recipient=6, amount=7, minimum=8, flags=9)
_UNISWAP = _Layout(within=(0,), sell=0, buy=1, amount=2, minimum=3, recipient=6, fee=1)

_LAYOUTS = {
    # KyberSwap's MetaAggregationRouterV2: swap, swapGeneric, swapSimpleMode. A description is src,
    # dst, srcReceivers, srcAmounts, feeReceivers, feeAmounts, dstReceiver, amount, min, flags.
    # https://etherscan.io/address/0x6131B5fae19EA4f9D964eAc0408E4408b66337b5#code
    "e21fd0e9": _KYBER,
    "59e50fed": _KYBER,
    "8af033fb": replace(_KYBER, within=(1,)),
    # Velora's Augustus v6.2: swapExactAmountIn and its one-venue variants …OnUniswapV2,
    # …OnUniswapV3, …OnCurveV1, …OnCurveV2. https://github.com/VeloraDEX/augustus-v6
    "e3ead59e": _Layout(sell=1, buy=2, amount=3, minimum=4, recipient=7, fee=8),
    "e8bb3b6c": _UNISWAP,
    "876a02f6": _UNISWAP,
    "1a01c532": _Layout(sell=2, buy=3, amount=4, minimum=5, recipient=8, fee=9),
    "e37ed256": _Layout(sell=4, buy=5, amount=6, minimum=7, recipient=10, fee=11),
    # Sushi's RedSnwapper: snwap(tokenIn, amountIn, recipient, tokenOut, amountOutMin, executor, …).
    # https://etherscan.io/address/0xAC4c6e212A361c968F1725b4d055b47E63F80b75#code
    "5f3bd1c8": _Layout(sell=0, amount=1, recipient=2, buy=3, minimum=4, zero_is_sender=False),
    # OpenOcean's ExchangeV2: swap(caller, description, calls). A description is src, dst,
    # srcReceiver, dstReceiver, amount, min, guaranteed, flags.
    # https://etherscan.io/address/0x6352a56caadC4F1E25CD6c75970Fa768A3304e64#code
    "90411a32": _Layout(within=(1,), sell=0, buy=1, recipient=3, amount=4, minimum=5, flags=7),
    # 1inch's AggregationRouterV6: swap(executor, description inline, data), and unoswap over one,
    # two or three pools. https://github.com/1inch/1inch-v6-aggregation-router
    "07ed2379": _Layout(sell=1, buy=2, recipient=4, amount=5, minimum=6, flags=7),
    "83800a8e": _Layout(sell=0, amount=1, minimum=2, packed=True),
    "8770ba91": _Layout(sell=0, amount=1, minimum=2, packed=True),
    "19367472": _Layout(sell=0, amount=1, minimum=2, packed=True),
}
