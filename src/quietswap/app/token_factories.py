"""The use cases about tokens, balances and indicative prices, built from the settings."""

from pathlib import Path

from quietswap.adapters.ethereum.node_chain import NodeChain
from quietswap.adapters.ethereum.simulation.transfer_fee import TransferFeeMeter
from quietswap.adapters.ethereum.token_reader import NodeTokenReader
from quietswap.adapters.rpc.wallet_node import WalletNodeClient
from quietswap.adapters.token_list_file import BadTokenList, read_token_list
from quietswap.app import factories
from quietswap.domain.token_list import BUILT_IN, TokenCatalogue
from quietswap.ports.clock import Clock
from quietswap.ports.prices import PriceOracle
from quietswap.ports.tokens import TokenReader
from quietswap.services.quoting.quote_price import QuotePrice
from quietswap.services.quoting.sources import AggregatorSource
from quietswap.services.reading.balances import GetBalances
from quietswap.services.reading.list_tokens import ListTokens
from quietswap.settings.load import BadSettings
from quietswap.settings.schema import Settings


def token_catalogue(settings: Settings) -> TokenCatalogue:
    """Return the tokens of the configured lists. Raises BadSettings."""
    tokens, faults = [], []
    for path in settings.tokens.lists:
        try:
            tokens += read_token_list(Path(path))
        except BadTokenList as error:
            faults.append(f"tokens.lists: {path} is not a token list: {error}")
    if faults:
        raise BadSettings("\n".join(faults))
    return TokenCatalogue(tokens if settings.tokens.lists else BUILT_IN)


def token_reader(nodes: WalletNodeClient, clock: Clock) -> NodeTokenReader:
    """Return the reader of tokens and holdings."""
    return NodeTokenReader(nodes.reads_of, clock, TransferFeeMeter(clock))


def list_tokens(settings: Settings, reader: TokenReader) -> ListTokens:
    """Return the use case of GET /api/v1/tokens. Raises BadSettings."""
    return ListTokens(token_catalogue(settings), reader, factories.token_policy(settings))


def balances(settings: Settings, reader: TokenReader) -> GetBalances:
    """Return the use case of GET /api/v1/mev/balances/:userAddress. Raises BadSettings."""
    names = factories.chosen_sources(settings)
    return GetBalances(reader, [r for name in names for r in factories.routers(settings, name)])


def quote_price(
    settings: Settings,
    chain: NodeChain,
    prices: PriceOracle,
    sources: tuple[AggregatorSource, ...],
    clock: Clock,
) -> QuotePrice:
    """Return the use case of GET /api/v1/price; it shares the sources' budgets with quotes."""
    return QuotePrice(
        chain=chain,
        prices=prices,
        sources=sources,
        tokens=factories.token_policy(settings),
        clock=clock,
        soft_s=settings.quotes.soft_deadline_s,
        hard_s=settings.quotes.hard_deadline_s,
    )
