"""The session of the web page, beside the interface. Only the page uses it."""

from typing import Annotated

from quietswap.contract.base import (
    AddressText,
    Count,
    Envelope,
    RequestStruct,
    Timestamp,
    UrlText,
    WireStruct,
    doc,
)


class WebSessionBody(RequestStruct, frozen=True, kw_only=True):
    """Body of POST /web/session."""

    address: Annotated[str | None, doc("A wallet's account, in any case.")] = None


class ConnectionCheck(WireStruct, frozen=True, kw_only=True):
    """The eth_call whose answer is the id of the RPC URL that a wallet uses."""

    to: Annotated[str, doc("Address of the call")]
    data: Annotated[str, doc("Data of the call, 0x hex")]


class WebSessionResponse(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """The session of a browser. Its secret is in an HttpOnly cookie."""

    chain_id: Annotated[int, doc("Chain that the service is for", 1)]
    explorer_url: Annotated[UrlText, doc("Block explorer")]
    connected: Annotated[ConnectionCheck, doc("How to check a wallet's RPC URL")]
    quote_seconds: Annotated[int, doc("Seconds that a swap quote is valid", 30)]
    expires_at: Annotated[Timestamp, doc("When the session ends (ISO 8601, UTC)")]
    address: Annotated[AddressText | None, doc("The account of the body, EIP-55 checksummed")] = (
        None
    )


class InclusionRecord(WireStruct, frozen=True, kw_only=True):
    """How long transactions without a tip took, as this service counted it."""

    orders: Annotated[Count, doc("Number of transactions, at most 100", 42)]
    days: Annotated[Count, doc("In the last so many days", 7)]
    half_s: Annotated[Count, doc("Half of them were in a block after so many seconds", 24)]
    most_s: Annotated[Count, doc("Nine of ten were in a block after so many seconds", 60)]


class WebStatusResponse(WireStruct, frozen=True, kw_only=True):
    """What the page tells of the service."""

    node: Annotated[bool, doc("Whether the service's Ethereum node answers")]
    relay: Annotated[bool, doc("Whether a relay accepts connections")]
    sources: Annotated[bool, doc("Whether a source of routes accepts connections")]
    inclusion: Annotated[InclusionRecord | None, doc("null: nothing was counted yet")] = None


class WebStatusEnvelope(Envelope[WebStatusResponse], frozen=True, kw_only=True):
    """The answer of GET /web/status."""


class WebSessionEnvelope(Envelope[WebSessionResponse], frozen=True, kw_only=True):
    """The answer of POST /web/session."""
