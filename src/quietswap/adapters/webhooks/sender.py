"""Requests to the URLs of webhooks, without access to the operator's own network.

The host is resolved once and every address is checked; one bad address refuses the request. The
connection goes to a checked address. A name server that changes its answer (DNS rebinding) alters
nothing: no second lookup happens. Redirects are not followed.
"""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quietswap.adapters.webhooks.exchange import BadAnswer, Streams, connect, post
from quietswap.adapters.webhooks.resolver import ResolutionFailed, Resolver, TooManyLookups
from quietswap.domain.webhook.addresses import IpAddress, refusal
from quietswap.domain.webhook.url import (
    InvalidWebhookUrl,
    WebhookUrl,
    is_allowed_host,
    parse_webhook_url,
)
from quietswap.ports.webhook_sender import DeliveryFailed, SenderBusy, WebhookUrlRefused

_RESOLVE_S = 5.0
_CONNECT_S = 5.0
"""Time for one of several addresses of a host."""


@dataclass(frozen=True, slots=True)
class SenderPolicy:
    """Which URLs are allowed, and the time of one request in seconds.

    `allow_private` allows addresses of private networks, and http to loopback addresses.
    """

    timeout_s: float = 15.0
    allow_private: bool = False
    allowed_hosts: Sequence[str] = ()


def tls_context(ca_file: str | Path | None = None) -> ssl.SSLContext:
    """Return a context that verifies certificates and host names, TLS 1.2 or later.

    `ca_file` (PEM) adds certificate authorities to the system's. Raises OSError.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


class PinnedWebhookSender:
    """Implements quietswap.ports.webhook_sender.WebhookSender."""

    def __init__(self, resolver: Resolver, context: ssl.SSLContext, policy: SenderPolicy) -> None:
        self._resolver = resolver
        self._context = context
        self._policy = policy

    async def check(self, url: str, *, client_id: str = "") -> None:
        """Check the URL and each address of its host. Raises WebhookUrlRefused."""
        parts = self._parsed(url)
        try:
            async with asyncio.timeout(_RESOLVE_S):
                await self._checked_addresses(parts, client_id)
        except TimeoutError:
            raise WebhookUrlRefused("its host could not be resolved in time") from None
        except (ResolutionFailed, TooManyLookups) as error:
            raise WebhookUrlRefused(str(error)) from None

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, *, client_id: str = ""
    ) -> int:
        """Send a POST and return the status.

        Raises DeliveryFailed, WebhookUrlRefused and SenderBusy.
        """
        parts = self._parsed(url)
        try:
            async with asyncio.timeout(self._policy.timeout_s):
                addresses = await self._checked_addresses(parts, client_id)
                return await post(await self._connected(parts, addresses), parts, headers, body)
        except TimeoutError:
            raise DeliveryFailed(f"no complete answer in {self._policy.timeout_s:g} s") from None
        except TooManyLookups as error:
            raise SenderBusy(str(error)) from None
        except (ResolutionFailed, BadAnswer) as error:
            raise DeliveryFailed(str(error)) from None
        except OSError as error:
            raise DeliveryFailed(_explained(error)) from None

    def _parsed(self, url: str) -> WebhookUrl:
        try:
            parts = parse_webhook_url(url, allow_http=self._policy.allow_private)
        except InvalidWebhookUrl as error:
            raise WebhookUrlRefused(str(error)) from None
        if not is_allowed_host(parts.host, self._policy.allowed_hosts):
            raise WebhookUrlRefused("its host is not in this service's list of allowed hosts")
        return parts

    async def _checked_addresses(self, url: WebhookUrl, client_id: str) -> Sequence[IpAddress]:
        addresses = await self._resolver.resolve(url.host, client_id)
        if not addresses:
            raise ResolutionFailed("its host has no address")
        for address in addresses:
            kind = refusal(address, allow_private=self._policy.allow_private)
            if kind is not None:
                raise WebhookUrlRefused(f"its host has an address that is not public ({kind})")
            if url.scheme == "http" and not address.is_loopback:
                raise WebhookUrlRefused("it must begin with https:// (http only to loopback)")
        return addresses

    async def _connected(self, url: WebhookUrl, addresses: Sequence[IpAddress]) -> Streams:
        """Connect to the first address that accepts a connection."""
        context = self._context if url.scheme == "https" else None
        for address in addresses[:-1]:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    return await connect(url, address, context)
            except (OSError, TimeoutError) as error:
                if isinstance(error, ssl.SSLError):
                    raise
        return await connect(url, addresses[-1], context)


def _explained(error: OSError) -> str:
    """Return the reason without an address or a URL."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"the certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return "the TLS handshake failed"
        case ConnectionRefusedError():
            return "the connection was refused"
        case ConnectionError():
            return "the connection closed before the end of the answer"
        case _:
            return "the connection failed"
