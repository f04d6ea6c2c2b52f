"""Settings of token lists."""

from typing import Annotated

from quietswap.settings.section import Section, says


class TokensConfig(Section, frozen=True):
    """The tokens that `GET /api/v1/tokens` lists."""

    lists: Annotated[
        tuple[str, ...],
        says(
            "Token-list files (https://tokenlists.org); of a token in several, the first counts. "
            "Empty: WETH, USDC, USDT, DAI and WBTC."
        ),
    ] = ()
