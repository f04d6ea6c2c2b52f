"""Watches: requests, answers and the event of one that is met."""

from typing import Annotated, Literal

from msgspec import Meta

from quietswap.rules import wire as base
from quietswap.rules.contract import request_limits as limits
from quietswap.rules.contract.requests import (
    SELL_AMOUNT,
    UINT256,
    BuyToken,
    SellToken,
    WholeNumber,
)
from quietswap.rules.tokens.token import WETH
from quietswap.rules.watches import LONGEST_S, WatchCondition, WatchState
from quietswap.rules.webhooks.webhook import WATCH_MET
from quietswap.rules.wire import (
    AddressText,
    AmountText,
    Count,
    Envelope,
    RequestStruct,
    Timestamp,
    WireStruct,
    doc,
)

WatchId = Annotated[str, doc("Watch id", "wat_4f3a9c0d2b6e8a1c7f5d3e90", pattern=base.ID_PATTERN)]


class WatchCreateBody(RequestStruct, frozen=True, kw_only=True):
    """Body of POST /api/v1/watches: what is waited for."""

    sell_token: SellToken
    buy_token: BuyToken
    sell_amount: Annotated[str, doc(SELL_AMOUNT, base.ONE_ETHER, **UINT256)]
    buy_amount: Annotated[
        str, doc("Output to wait for, in the buy token's smallest units.", "3200000000", **UINT256)
    ]
    condition: Annotated[
        str,
        doc(
            "Whether the promised output must be at least or at most buyAmount.",
            "atLeast",
            enum=WatchCondition,
        ),
    ]
    deadline: Annotated[
        WholeNumber | None,
        doc(
            f"Unix seconds, by the chain's time; at most, and without it, {LONGEST_S} s from now.",
            1_800_000_600,
            exclusiveMaximum=limits.DEADLINE_END,
        ),
    ] = None


class WatchPath(WireStruct, frozen=True, kw_only=True):
    """Path of one watch."""

    watch_id: WatchId


class WatchesQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/watches."""

    limit: Annotated[
        int, Meta(ge=1, le=limits.MAX_LIMIT), doc("Watches per page.", limits.DEFAULT_LIMIT)
    ] = limits.DEFAULT_LIMIT
    offset: Annotated[int, Meta(ge=0, le=limits.MAX_OFFSET), doc("Watches to skip.", 0)] = 0


class WatchResponse(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """A price that is waited for. When it is met, ask for a quote of the same swap."""

    id: WatchId
    state: Annotated[
        Literal["open", "met", "expired"],
        doc("met and expired are final", "open", type="string", enum=WatchState),
    ]
    sell_token: Annotated[AddressText, doc("Token to sell (EIP-55 checksummed)", WETH)]
    buy_token: Annotated[AddressText, doc("Token to buy (EIP-55 checksummed)", base.USDC)]
    sell_amount: Annotated[AmountText, doc("Amount to sell, smallest units", base.ONE_ETHER)]
    buy_amount: Annotated[AmountText, doc("Output to wait for, smallest units", "3200000000")]
    condition: Annotated[
        Literal["atLeast", "atMost"],
        doc("Which side of buyAmount", "atLeast", type="string", enum=WatchCondition),
    ]
    created_at: Annotated[Timestamp, doc("Time of creation (ISO 8601, UTC)")]
    expires_at: Annotated[Timestamp, doc("When it ends without an event (ISO 8601, UTC)")]
    met_at: Annotated[Timestamp | None, doc("When it was met (ISO 8601, UTC)", base.TIME)] = None
    promised: Annotated[
        AmountText | None,
        doc("What the own source promised when it was met, smallest units", "3200000001"),
    ] = None


class WatchListResponse(WireStruct, frozen=True, kw_only=True):
    """Watches of the calling client, newest first."""

    watches: Annotated[tuple[WatchResponse, ...], doc("Watches")]


class DeletedWatchResponse(WireStruct, frozen=True, kw_only=True):
    """A watch that is deleted."""

    id: WatchId
    deleted: Annotated[bool, doc("Always true", const=True)]


class WatchEventMessage(WireStruct, frozen=True, kw_only=True):
    """A watch that is met: the `data` of an event of the stream."""

    id: Annotated[str, doc("Unique, and never changes", "evt_wat_4f3a9c0d2b6e8a1c7f5d3e90")]
    sequence: Annotated[
        Count, doc("Number of the event, without gaps for each client. It is also `id:`", 1043)
    ]
    type: Annotated[str, doc("Always watch.met", const=WATCH_MET)]
    at: Annotated[Timestamp, doc("When the service stored the change (ISO 8601, UTC)")]
    watch: Annotated[WatchResponse, doc("The watch, as it was then")]


class WatchEnvelope(Envelope[WatchResponse], frozen=True, kw_only=True):
    """The answer of POST /api/v1/watches."""


class WatchListEnvelope(Envelope[WatchListResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/watches."""


class WatchDeletedEnvelope(Envelope[DeletedWatchResponse], frozen=True, kw_only=True):
    """The answer of DELETE /api/v1/watches/:watchId."""
