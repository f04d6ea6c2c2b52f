"""Notes of a quote for the user, as plain text."""

from quietswap.domain.quote.quote import VerificationStatus
from quietswap.domain.quote.scoring import Candidate, UsdRates


def notes(best: Candidate, rates: UsdRates, quoted: UsdRates, *, weighed: bool) -> tuple[str, ...]:
    """Return the notes: `rates` are the prices the quote was computed with, `quoted` those read.

    `weighed`: gas could be converted into the buy token, so routes were compared net of gas.
    """
    found = []
    if not best.route.bound:
        found.append("no router is proven to enforce these terms: the source is trusted")
    if best.verification is VerificationStatus.UNVERIFIED:
        found.append("no simulation was possible: the amounts are the source's promise")
    if rates != quoted:
        found.append("the USD prices of the two tokens contradict the rate: they are not used")
    if rates.buy is None or rates.eth is None:
        found.append("no trustworthy USD price: routes were compared in the buy token")
    if not weighed:
        found.append(
            "gas was not weighed: of nearly equal outputs the one with least gas was taken"
        )
    if rates.buy is None and rates.sell is None:
        found.append("no USD price of either token: the loss to a sandwich is unknown")
    return tuple(found)
