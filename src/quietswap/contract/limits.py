"""Limits and defaults of request values, and patterns of text."""

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
POLLING_INTERVAL_S = 10
MAX_RPC_WALLETS, MAX_RPC_NAME = 50, 100
"""Wallets of one RPC URL, and characters of its name."""
MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON reader holds exactly."""

ADDRESS_PATTERN = "^0x[0-9a-fA-F]{40}$"
AMOUNT_PATTERN = "^[0-9]+$"
ETHER_PATTERN = "^[0-9]+([.][0-9]{1,18})?$"
HASH_PATTERN = "^0x[0-9a-f]{64}$"
HEX_PATTERN = "^0x([0-9a-f]{2})*$"
ID_PATTERN = "^[!-~]{1,128}$"
"""Printable ASCII: no store holds another id, and PostgreSQL refuses NUL."""
SEQUENCE_PATTERN = "^[0-9]{1,15}$"
UINT256_PATTERN = "^[0-9]{1,78}$"
