"""The IP addresses that a webhook may have. The first network of a table that matches counts.

The service sends requests to addresses that its clients name, from inside the operator's network.
Only public unicast addresses are safe. For IPv6 the list is positive: global unicast is 2000::/3,
so IPv4-mapped (::ffff:0:0/96), IPv4-compatible (::/96), NAT64 (64:ff9b::/96, 64:ff9b:1::/48),
unique local, link-local, site-local and multicast addresses are outside of it.

Sources: https://www.iana.org/assignments/iana-ipv4-special-registry and
https://www.iana.org/assignments/iana-ipv6-special-registry
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

IpAddress = IPv4Address | IPv6Address

_NOT_PUBLIC_4: dict[str, str] = {
    "100.100.100.200/32": "a cloud provider's metadata",
    "168.63.129.16/32": "a cloud provider's metadata",
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "carrier-grade NAT",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "documentation",
    "192.88.99.0/24": "6to4",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "benchmarking",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
_NOT_PUBLIC_6: dict[str, str] = {
    "::/128": "unspecified",
    "::1/128": "loopback",
    "::ffff:0:0/96": "IPv4-mapped",
    "::/96": "IPv4-compatible",
    "64:ff9b::/96": "NAT64",
    "64:ff9b:1::/48": "NAT64",
    "2001::/32": "Teredo",
    "2001::/23": "reserved",
    "2001:db8::/32": "documentation",
    "2002::/16": "6to4",
    "3fff::/20": "documentation",
    "fd00:ec2::/32": "a cloud provider's metadata",
    "fd20:ce::/32": "a cloud provider's metadata",
    "fc00::/7": "unique local",
    "fe80::/10": "link-local",
    "fec0::/10": "site-local",
    "ff00::/8": "multicast",
}
_KINDS_4 = [(IPv4Network(network), kind) for network, kind in _NOT_PUBLIC_4.items()]
_KINDS_6 = [(IPv6Network(network), kind) for network, kind in _NOT_PUBLIC_6.items()]
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
    kind = _kind(address)
    return None if allow_private and kind in _OWN else kind


def _kind(address: IpAddress) -> str | None:
    if isinstance(address, IPv4Address):
        return next((kind for network, kind in _KINDS_4 if address in network), None)
    if address.scope_id is not None:
        return "link-local"
    for network, kind in _KINDS_6:
        if address in network:
            return kind
    return None if address in _GLOBAL_6 else "reserved"
