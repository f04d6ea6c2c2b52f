"""The URL of a webhook.

Only one spelling of each host is accepted: a host name, or an IP address in its usual notation.
Other notations of an address (`127.1`, `0x7f000001`, `2130706433`) are refused, because libraries
read them differently.
"""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

MAX_LENGTH = 2048
"""Characters of a URL."""
_PORTS = {"https": 443, "http": 80}
_VISIBLE = re.compile(r"[!-~]+")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_ESCAPED = '<>"{}|\\^`'
"""ASCII characters that RFC 3986 does not allow in a URL."""


class InvalidWebhookUrl(ValueError):
    """The URL cannot be a webhook; the message is the reason."""


@dataclass(frozen=True, slots=True)
class WebhookUrl:
    """A valid URL, in the parts that a request needs.

    `host` is a lower-case name or an IP address without brackets; `target` is path and query.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Return the value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_webhook_url(text: str, *, allow_http: bool = False) -> WebhookUrl:
    """Return the parts of a webhook's URL. Raises InvalidWebhookUrl.

    `allow_http` also accepts http, for receivers on this machine.
    """
    if not text or len(text) > MAX_LENGTH:
        raise InvalidWebhookUrl(f"it must have 1 to {MAX_LENGTH} characters")
    if not _VISIBLE.fullmatch(text) or any(char in _ESCAPED for char in text):
        raise InvalidWebhookUrl("it must be ASCII without spaces; write other characters as %20")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidWebhookUrl("its host or port cannot be read") from None
    if parts.scheme not in (("https", "http") if allow_http else ("https",)):
        raise InvalidWebhookUrl("it must begin with https://")
    if "@" in parts.netloc:
        raise InvalidWebhookUrl("it must not contain a user name or password")
    if "#" in text:
        raise InvalidWebhookUrl("it must not contain a fragment (#)")
    if not host or parts.netloc.endswith(":") or port == 0:
        raise InvalidWebhookUrl("it must have a host, and a port from 1 to 65535 if it has one")
    target = (parts.path or "/") + (f"?{parts.query}" if "?" in text else "")
    return WebhookUrl(parts.scheme, _host(host, parts.netloc), port or _PORTS[parts.scheme], target)


def _host(host: str, netloc: str) -> str:
    if netloc.startswith("["):
        try:
            return ipaddress.IPv6Address(host if "%" not in host else "zone").compressed
        except ValueError:
            raise InvalidWebhookUrl("its IPv6 address cannot be read") from None
    if not _NAME.fullmatch(host) or len(host) > 253:
        raise InvalidWebhookUrl("its host is not a host name; write an international one as xn--")
    if not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return host
    try:
        return ipaddress.IPv4Address(host).compressed
    except ValueError:
        raise InvalidWebhookUrl("its IPv4 address must have four decimal numbers") from None


def is_allowed_host(host: str, allowed: Sequence[str]) -> bool:
    """Return whether a host is in the allow list; an empty list allows every host.

    `*.example.com` allows all names below example.com, but not example.com itself.
    """
    wanted = [entry.lower() for entry in allowed]
    return not wanted or any(
        host.endswith(entry[1:]) if entry.startswith("*.") else host == entry for entry in wanted
    )
