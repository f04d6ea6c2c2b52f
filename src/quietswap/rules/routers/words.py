"""A strict reader of calldata as 32-byte words: data beyond the end is an error, never zero.

Compilers decode loosely (negative offsets, words beyond the end read as zero, dirty upper bits).
A reader that is stricter than every router reads the same values, or refuses.
"""

from quietswap.rules.tx.address import Address, from_bytes

WORD = 32
_ADDRESS_BITS = 160


class UnboundCalldata(ValueError):
    """No proof exists that the router enforces the terms; the message names the rule."""


class MalformedCalldata(UnboundCalldata):
    """The calldata has a known selector but not its layout."""


class Words:
    """Calldata after the selector, indexed in words from the byte offset `base`."""

    def __init__(self, data: bytes, base: int = 0) -> None:
        self._data = data
        self._base = base

    def uint(self, index: int) -> int:
        """Return a word as a number. Raises MalformedCalldata if it is incomplete."""
        start = self._base + index * WORD
        word = self._data[start : start + WORD]
        if len(word) != WORD:
            raise MalformedCalldata("it ends before its fields do")
        return int.from_bytes(word)

    def address(self, index: int) -> Address:
        """Return a word as an address. Raises MalformedCalldata if upper bits are set."""
        value = self.uint(index)
        if value >> _ADDRESS_BITS:
            raise MalformedCalldata("an address field holds more than an address")
        return from_bytes(value.to_bytes(20))

    def follow(self, index: int) -> "Words":
        """Return the words at the offset in word `index`, relative to this base."""
        start = self._base + self.uint(index)
        if start > len(self._data):
            raise MalformedCalldata("an offset points beyond its end")
        return Words(self._data, start)

    def raw(self, index: int) -> bytes:
        """Return the byte string at the offset in word `index`. Raises MalformedCalldata."""
        tail = self.follow(index)
        length = tail.uint(0)
        start = tail._base + WORD
        if start + length > len(self._data):
            raise MalformedCalldata("a byte string is longer than what is there")
        return self._data[start : start + length]

    def parts(self, index: int, most: int) -> list[bytes]:
        """Return the byte strings of the array at the offset in word `index`, at most `most`."""
        array = self.follow(index)
        count = array.uint(0)
        if count > most:
            raise MalformedCalldata("it has too many parts")
        items = Words(self._data, array._base + WORD)
        return [items.raw(each) for each in range(count)]
