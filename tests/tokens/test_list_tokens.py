"""A search for tokens never contradicts what the service knows of them."""

from dataclasses import dataclass, field

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.clients import ApiKey
from quietswap.rules.tokens.token import (
    WETH,
    Token,
    TokenPolicy,
    TokenView,
    TokenWarning,
    TransferFee,
)
from quietswap.rules.tokens.token_list import ListedToken, TokenCatalogue
from quietswap.rules.tx.address import Address
from quietswap.service.tokens.tokens import ListTokens

KEY = ApiKey("key-1", "a page", 0, None, "client-1")
OTHER = Address("0x" + "12" * 20)
LISTED = (ListedToken(WETH, "USDC", "USD Coin", 6), ListedToken(OTHER, "USDCX", "Other", 8))


@dataclass
class Reader:
    """A node that tells 18 decimals of each token, and keeps what it told."""

    is_down: bool = False
    told: dict[Address, Token] = field(default_factory=dict)

    async def details(self, address: Address, client_id: str) -> Token | None:
        if self.is_down:
            raise NodeUnavailable("down")
        return self.told.setdefault(address, Token(address, 18, "X", "x"))

    def known_details(self, address: Address) -> Token | None:
        return self.told.get(address)

    async def transfer_fee(self, address: Address, client_id: str) -> TransferFee:
        return TransferFee(0)

    def measured_fee(self, address: Address) -> TransferFee | None:
        return None


async def search(reader: Reader, text: str) -> list[TokenView]:
    listing = ListTokens(TokenCatalogue(LISTED), reader, TokenPolicy())  # type: ignore[arg-type]
    return list((await listing(KEY, text, 10, 0)).tokens)


async def test_a_well_known_token_has_its_own_decimals_in_every_search() -> None:
    for reader, text in ((Reader(), "usdc"), (Reader(), WETH), (Reader(is_down=True), WETH)):
        weth = (await search(reader, text))[0]
        assert (weth.address, weth.decimals) == (WETH, 18)
        assert TokenWarning.WRONG_DECIMALS in weth.warnings


async def test_decimals_that_were_read_correct_a_search_by_text() -> None:
    reader = Reader()
    _, other = await search(reader, "usdc")
    assert (other.decimals, TokenWarning.WRONG_DECIMALS in other.warnings) == (8, False)
    assert reader.told == {}, "a search by text asks nobody"
    await search(reader, OTHER)
    _, other = await search(reader, "usdc")
    assert (other.decimals, TokenWarning.WRONG_DECIMALS in other.warnings) == (18, True)
