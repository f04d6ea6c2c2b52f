"""The URLs and the IP addresses that a webhook may have: https, and public addresses only."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network
from urllib.parse import urlsplit

from quietswap.rules.webhooks.webhook import WebhookUrlRefused

# The URL of a webhook.
#
# Only one spelling of each host is accepted: a host name, or an IP address in its usual notation.
# Other notations of an address (`127.1`, `0x7f000001`, `2130706433`) are refused, because
# libraries read them differently.
MAX_LENGTH = 2048
"""Characters of a URL."""
_PORTS = {"https": 443, "http": 80}
_VISIBLE = re.compile(r"[!-~]+")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_ESCAPED = '<>"{}|\\^`'
"""ASCII characters that RFC 3986 does not allow in a URL."""


class InvalidWebhookUrl(WebhookUrlRefused):
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
    patterns = [entry.lower() for entry in allowed]
    return not patterns or any(
        host.endswith(entry[1:]) if entry.startswith("*.") else host == entry for entry in patterns
    )


# The IP addresses that a webhook may have. The first network of a table that matches counts.
#
# The service sends requests to addresses that its clients name, from inside the operator's
# network. Only public unicast addresses are safe. For IPv6 the list is positive: global unicast is
# 2000::/3, so IPv4-mapped (::ffff:0:0/96), IPv4-compatible (::/96), NAT64 (64:ff9b::/96,
# 64:ff9b:1::/48), unique local, link-local, site-local and multicast addresses are outside of it.
#
# Sources: https://www.iana.org/assignments/iana-ipv4-special-registry and
# https://www.iana.org/assignments/iana-ipv6-special-registry
IpAddress = IPv4Address | IPv6Address

_NOT_PUBLIC = {
    "a cloud provider's metadata": (
        "100.100.100.200/32 168.63.129.16/32 fd00:ec2::/32 fd20:ce::/32"
    ),
    "this network": "0.0.0.0/8",
    "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16",
    "carrier-grade NAT": "100.64.0.0/10",
    "loopback": "127.0.0.0/8 ::1/128",
    "link-local": "169.254.0.0/16 fe80::/10",
    "documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
    "6to4": "192.88.99.0/24 2002::/16",
    "benchmarking": "198.18.0.0/15",
    "multicast": "224.0.0.0/4 ff00::/8",
    "unspecified": "::/128",
    "IPv4-mapped": "::ffff:0:0/96",
    "IPv4-compatible": "::/96",
    "NAT64": "64:ff9b::/96 64:ff9b:1::/48",
    "Teredo": "2001::/32",
    "reserved": "192.0.0.0/24 240.0.0.0/4 2001::/23",
    "unique local": "fc00::/7",
    "site-local": "fec0::/10",
}
_KINDS = [(ip_network(one), kind) for kind, found in _NOT_PUBLIC.items() for one in found.split()]
_GLOBAL_6 = IPv6Network("2000::/3")
_OWN = frozenset({"private", "loopback", "carrier-grade NAT", "unique local"})
"""Kinds that `webhooks.allow_private` allows: addresses of hosts in a network of one's own.

No host that receives webhooks has a link-local address, but the metadata of a cloud, and so the
keys of the machine, are at one.
"""


def refusal(address: IpAddress, *, allow_private: bool = False) -> str | None:
    """Return the kind of an address that is refused; None if a webhook may have it.

    `allow_private` also allows the kinds that hosts of a private network have.
    """
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return "link-local"
    kind = next((kind for network, kind in _KINDS if address in network), None)
    if kind is None and address.version == 6 and address not in _GLOBAL_6:
        return "reserved"
    return None if allow_private and kind in _OWN else kind
