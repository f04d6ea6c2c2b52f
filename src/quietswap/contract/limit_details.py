"""The `details` of the errors of keys and clients: scope, allow lists and limits."""

from typing import Annotated, Literal

from quietswap.contract import examples
from quietswap.contract.base import AddressText, WireStruct, doc

UsdText = Annotated[str, doc("Decimal USD", "1500.00", pattern="^[0-9]+[.][0-9]{2}$")]
ResetsAt = Annotated[str, doc("End of the UTC day (ISO 8601)", "2027-01-16T00:00:00Z")]
Scope = Annotated[Literal["trade", "read"], doc("Scope of an API key", "read", type="string")]


class UnauthorizedDetails(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a key that was valid is refused; absent for a wrong or revoked key."""

    reason: Annotated[
        str | None,
        doc("EXPIRED: the key has expired. CLIENT_DISABLED: the operator disabled its client"),
    ] = None


class ForbiddenDetails(WireStruct, frozen=True, kw_only=True):
    """The scopes."""

    scope: Scope = "read"
    required: Scope = "trade"


class WalletNotAllowedDetails(WireStruct, frozen=True, kw_only=True):
    """The wallet."""

    user_address: Annotated[AddressText, doc("Wallet of the request", examples.WALLET)] = ""


class TokenNotAllowedDetails(WireStruct, frozen=True, kw_only=True):
    """The token."""

    token: Annotated[AddressText, doc("Token that is not on the list", examples.USDC)] = ""


class SwapValueLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit of one swap."""

    limit_usd: UsdText = ""
    value_usd: UsdText = ""


class DailyValueLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit of a day."""

    limit_usd: UsdText = ""
    used_usd: UsdText = ""
    value_usd: UsdText = ""
    resets_at: ResetsAt = ""


class QuoteLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit of a day."""

    limit: Annotated[int, doc("Quotes a day", 10_000)] = 0
    resets_at: ResetsAt = ""


class OpenOrderLimitDetails(WireStruct, frozen=True, kw_only=True):
    """The limit."""

    limit: Annotated[int, doc("Open orders at the same time", 20)] = 0
