"""Amounts: integers in smallest units inside, decimal strings outside. No float anywhere."""

UINT256_MAX = 2**256 - 1
AMOUNT_MAX = 2**255 - 1
"""The most of a token that a trade can name: pools take amounts as int256 (`toInt256` in
https://github.com/Uniswap/v3-core/blob/main/contracts/libraries/SafeCast.sol), and the top bit of
a balance may be a flag, as in USDC, so more cannot be simulated."""
_MAX_DIGITS = 78
MOST_DECIMALS = 77
"""Of a token with more, one whole is larger than any amount."""
_ETHER_DECIMALS = 18
_WEI = 10**18
BPS = 10_000


class BadAmount(ValueError):
    """The text is not an amount; the message gives the reason."""


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _bounded(amount: int, unit: str = "") -> int:
    if amount == 0:
        raise BadAmount("the amount must be greater than zero")
    if amount > AMOUNT_MAX:
        raise BadAmount(f"the amount is larger than 2^255 - 1{unit}")
    return amount


def parse_units(text: str) -> int:
    """Return a positive amount in smallest units, 1 to 2**255 - 1.

    Only decimal digits are accepted: no sign, exponent, blank, underscore or non-ASCII digit. The
    length is checked before the conversion, so a million digits cost nothing. Raises BadAmount.
    """
    if not _digits(text):
        raise BadAmount("an amount in smallest units is written with decimal digits only")
    if len(text) > _MAX_DIGITS:
        raise BadAmount("the amount is larger than 2^255 - 1")
    return _bounded(int(text))


def parse_ether(text: str) -> int:
    """Return wei of a positive ETH amount with at most 18 decimals, `1.5`. Raises BadAmount."""
    whole, point, fraction = text.partition(".")
    if not _digits(whole) or (point and not _digits(fraction)):
        raise BadAmount("an ETH amount is written as decimal digits with an optional fraction")
    if len(fraction) > _ETHER_DECIMALS:
        raise BadAmount("an ETH amount has at most 18 decimals")
    if len(whole) > _MAX_DIGITS:
        raise BadAmount("the amount is larger than 2^255 - 1 wei")
    return _bounded(int(whole) * _WEI + int(fraction.ljust(_ETHER_DECIMALS, "0")), " wei")


def format_units(amount: int, decimals: int) -> str:
    """Return `amount` smallest units as a plain decimal without trailing zeros, such as `0.5`."""
    if decimals == 0:
        return str(amount)
    whole, fraction = divmod(amount, 10**decimals)
    tail = str(fraction).rjust(decimals, "0").rstrip("0")
    return f"{whole}.{tail}" if tail else str(whole)


def format_ether(wei: int) -> str:
    return format_units(wei, _ETHER_DECIMALS)


def less_slippage(amount: int, slippage_bps: int) -> int:
    """Return `amount` reduced by `slippage_bps`, rounded down (integer arithmetic only)."""
    return amount * (BPS - slippage_bps) // BPS


def difference_bps(actual: int, promised: int) -> int:
    """Return the difference of `actual` from `promised` in basis points; negative means less."""
    if promised == 0:
        return 0
    return (actual - promised) * BPS // promised
