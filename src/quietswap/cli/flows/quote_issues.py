"""Check of the issues that a quote reports, used if there is no --rpc-url."""

from quietswap.client import QuoteDeclined
from quietswap.contract.quotes import SwapQuoteResponse


def require_submittable(quote: SwapQuoteResponse) -> None:
    """Check that the wallet can pay for the transaction. Raises QuoteDeclined."""
    issues = quote.issues
    if issues.balance is not None:
        short = "the wallet holds less than is sold"
    elif issues.allowance is not None:
        short = f"approve {issues.allowance.spender} first, or give --rpc-url"
    elif issues.gas is not None:
        short = "the wallet holds too little ETH for the gas"
    else:
        return
    raise QuoteDeclined(f"nothing was signed: {short}")
