"""What the scripted inside answers about tokens, balances and prices."""

from decimal import Decimal

from quietswap.rules.quotes.indicative_price import IndicativePrice
from quietswap.rules.quotes.quote import SourceOutcome, SourceReport
from quietswap.rules.quotes.scoring import SourcePrice
from quietswap.rules.tokens.token import (
    WETH,
    Token,
    TokenHolding,
    TokenPage,
    TokenView,
    TokenWarning,
    WalletHoldings,
)
from quietswap.rules.tx.address import Address
from tests.response_json import prices, tokens
from tests.stored_orders import NOW_MS, USDC

WALLET = Address("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
ROUTER = Address("0x6131B5fae19EA4f9D964eAc0408E4408b66337b5")


def token_page() -> TokenPage:
    """Return one page of two tokens of three."""
    weth = TokenView(
        WETH, "WETH", "Wrapped Ether", 18, "https://tokens.test/weth.png", ("A list",), 0, ()
    )
    plain = TokenView(USDC, "USDC", "USD Coin", 6, None, (), None, (TokenWarning.UNLISTED,))
    return TokenPage((weth, plain), 3)


HOLDINGS = WalletHoldings(
    WALLET,
    21_000_000,
    15 * 10**17,
    (
        TokenHolding(WETH, Token(WETH, 18, "WETH", "Wrapped Ether"), 10**18, {ROUTER: 5}),
        TokenHolding(USDC, None, None, {ROUTER: None}),
    ),
)
PRICE = IndicativePrice(
    sell_token=WETH,
    buy_token=USDC,
    sell_amount=10**18,
    best=SourcePrice("kyberswap", 3_000_000_000, 200_000),
    impact_percent=Decimal("0.12"),
    net_value_usd=Decimal("2999.123456789"),
    gas_cost_usd=Decimal("0.63"),
    asked_at_ms=NOW_MS,
    sources=(
        SourceReport("kyberswap", SourceOutcome.WON, 210, 3_000_000_000),
        SourceReport("sushi", SourceOutcome.TIMED_OUT, 3000, reason="no answer in time"),
    ),
)

TOKEN_ANSWERS = {
    "price": lambda: prices.price_response(PRICE),
    "tokens": lambda: tokens.tokens_response(token_page(), 2, 0),
    "balances": lambda: tokens.balances_response(HOLDINGS),
}
"""`data` of each answer as JSON, for the clients' fake service."""
