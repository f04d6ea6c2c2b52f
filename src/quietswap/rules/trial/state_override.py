"""State overrides that give a wallet the balance and the allowance of a swap."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from quietswap.rules.tx.address import Address


@dataclass(frozen=True, slots=True)
class SlotOverride:
    """One storage slot, the word written to it, and the number that the token must then return."""

    slot: int
    word: int
    number: int


@dataclass(frozen=True, slots=True)
class StateOverride:
    """The overrides of one simulation; None for a storage slot that is unknown."""

    balance_lacks: bool = False
    balance: SlotOverride | None = None
    allowances: Mapping[Address, SlotOverride | None] = field(default_factory=dict)

    def obstacle(self, spender: Address) -> str | None:
        """Return why a swap through `spender` cannot be simulated; None if it can."""
        if self.balance_lacks and self.balance is None:
            return "the wallet lacks the sell amount and the token's balance slot is unknown"
        if spender in self.allowances and self.allowances[spender] is None:
            return "the router is not approved and the token's allowance slot is unknown"
        return None

    def words(self, spender: Address) -> dict[int, int]:
        """Return slot → word to override in the sell token for a swap through `spender`."""
        overrides = (self.balance, self.allowances.get(spender))
        return {one.slot: one.word for one in overrides if one}

    def reads_back(self, spender: Address, balance: int | None, allowance: int | None) -> bool:
        """Whether the token returns the overridden numbers for a swap through `spender`."""
        pairs = ((self.balance, balance), (self.allowances.get(spender), allowance))
        return all(one is None or one.number == number for one, number in pairs)
