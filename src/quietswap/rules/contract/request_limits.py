"""What a request may ask for at most, and what it gets without a word: limits and defaults.

Amounts have their limit in `rules/amounts.py`, rates and values of a client in `rules/clients.py`.
"""

DEFAULT_SLIPPAGE_BPS, MAX_SLIPPAGE_BPS = 50, 5_000
DEFAULT_LIMIT, MAX_LIMIT = 50, 200
"""Orders on one page of the history."""
MAX_DESCRIPTION = 200
"""Characters of the description of a webhook."""
MAX_SEARCH = 100
"""Characters of a search for tokens."""
MAX_BALANCE_TOKENS = 50
"""Tokens of one request for balances."""
MAX_OFFSET = 10**9
MAX_RPC_WALLETS, MAX_RPC_NAME = 50, 100
"""Wallets of one RPC URL, and characters of its name."""
DEADLINE_END = 10**11
"""Of deadlines in seconds: so many seconds are the year 5138, so many milliseconds 1973."""
