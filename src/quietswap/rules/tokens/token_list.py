"""Listed tokens and the search among them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from quietswap.rules.tokens.look_alikes import LookAlikes
from quietswap.rules.tokens.token import KNOWN_TOKENS
from quietswap.rules.tx.address import Address


@dataclass(frozen=True, slots=True)
class ListedToken:
    """A token of at least one list; `lists` names them. Texts are harmless to show."""

    address: Address
    symbol: str
    name: str
    decimals: int
    logo_uri: str | None = None
    lists: tuple[str, ...] = ()


BUILT_IN = tuple(
    ListedToken(one.address, one.symbol, one.name, one.decimals, lists=("built in",))
    for one in KNOWN_TOKENS
)
"""What is listed where no list is configured."""


class TokenCatalogue:
    """All listed tokens. Of a token in several lists, the first list's text counts."""

    def __init__(self, tokens: Iterable[ListedToken]) -> None:
        merged: dict[Address, ListedToken] = {}
        for token in tokens:
            first = merged.setdefault(token.address, token)
            if first is not token:
                names = dict.fromkeys((*first.lists, *token.lists))
                merged[token.address] = replace(first, lists=tuple(names))
        self._tokens: Mapping[Address, ListedToken] = merged
        self._symbols = LookAlikes(token.symbol for token in merged.values())
        self._names = LookAlikes(token.name for token in merged.values())

    def get(self, address: Address) -> ListedToken | None:
        return self._tokens.get(address)

    def has_symbol(self, symbol: str) -> bool:
        """Return whether a listed token has this symbol, or one that looks like it."""
        return self._symbols.has(symbol)

    def has_name(self, name: str) -> bool:
        """Return whether a listed token has this name, or one that looks like it."""
        return self._names.has(name)

    def search(self, text: str = "") -> Sequence[ListedToken]:
        """Return the tokens whose symbol, name or address contains `text`, best first.

        Order: equal symbol, symbol that begins with the text, name that begins with it, others;
        then the order of the lists.
        """
        folded_text = text.strip().casefold()
        if not folded_text:
            return list(self._tokens.values())
        ranked = [
            (place, number, token)
            for number, token in enumerate(self._tokens.values())
            if (place := _place(token, folded_text)) is not None
        ]
        return [token for *_, token in sorted(ranked, key=lambda row: row[:2])]


def _place(token: ListedToken, wanted: str) -> int | None:
    symbol, name = token.symbol.casefold(), token.name.casefold()
    rules = (
        symbol == wanted,
        symbol.startswith(wanted),
        name.startswith(wanted),
        wanted in symbol or wanted in name,
        wanted.startswith("0x") and token.address.lower().startswith(wanted),
    )
    return next((place for place, fits in enumerate(rules) if fits), None)
