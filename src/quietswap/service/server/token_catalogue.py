"""The tokens of the configured token lists."""

from pathlib import Path

from quietswap.rules.tokens.token_list import BUILT_IN, TokenCatalogue
from quietswap.rules.tokens.token_list_file import BadTokenList, read_token_list
from quietswap.service.server.settings import BadSettings
from quietswap.service.settings import Settings


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
